"""What `swt demo` needs besides the product: the demo project's history, its recorded GitHub and recorded replies."""
