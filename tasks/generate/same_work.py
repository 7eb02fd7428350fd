"""Versions of methods that do the same work as earlier ones: only names, imports or prose of their files changed.

Without a line here a changed file of a method is a new version, and a sweep asks for all of its work again.
"""

SAME_WORK = {
    "2597786b0eee80011bdc5425f33ffe18": "1d87719fc41012fc89cae65db31200aa",  # zero_shot
    "971a07a796c7c7cbe5aa64f9eb7769a2": "aea3b9080c62e6392c0d2d626cd06382",  # zero_shot_plus
    "eba43d20321f9121be1c5dfa88353499": "c48d114655d143032f6446de82eab1ca",  # pass_at_5
    "11ef814c5c13c0b834602d35dc5d9ef9": "7ce88c1cdda377633705424031dcfaf0",  # libro
    "55f6d57fbcffbe8d47a0d7ade3cb0a72": "a4e2c0c390bae067538ffa2b12de3d2c",  # auto_code_rover
    "659f0d851f300768bbd4b4a1872e491b": "eba66348d151aa08574826a64d0acc76",  # agent
    "85bcb5bbb66b91351d55c987264e34e6": "f3a6b785b3f21989ada56f2eb92fcb87",  # aider
    "ef142f988c598f6f49a4ec0cab051423": "0d77a880245501af21d1b24bd356aab0",  # mini_swe_agent
    "2a69f52d60d51a61fd1726bdc10f0fe2": "05a7b0b67594d663b9b1dbbcef92cb4c",  # swe_agent
    "45985d5b4bc5125375ddc506e7b0e21f": "ab10dac320919b09ac21369540dbc109",  # swe_agent_plus
    "843f7ce8e887cf8f66bc5091c242af00": "baab2858db2b92fdfac9ba137e6b406d",  # openhands
    "ae638c07dc692613462cf3b3bcb33c7e": "1046b76d4296fd6b6aa2583c4f313c0c",  # codex
    "5bab6ce3b4a634f753cf8c73a9a0ba47": "134299a7eaab5615f6a2497d297c9bfc",  # claude_code
    "f09620203e8b691702b935db0a4b02df": "c0b1887ce7b412437cee0bffd22ee099",  # opencode
}
"""Key of the present source → key that stored rows have. `version_of` in rows.py reads it."""
