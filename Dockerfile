# The project as a checkout, for workers of a cluster (docs/operating.md):
#
#     docker build -t rolling-swt-bench .
#
# BASE is any Debian or Ubuntu with Python 3.11 to 3.13 and its venv: the newest, for code of a newer grammar is not read.
# PYTHONS are what environments of instances are made with, as `uv python install` has them; older ones come with BASE,
# by pyenv.
ARG BASE=python:3.13-slim-bookworm
FROM ${BASE}
ARG PYTHONS="3.8 3.9 3.10 3.11 3.12 3.13"

# Compilers and what follows them: for projects that are compiled (`swt doctor`).
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends bubblewrap ca-certificates git \
        build-essential ccache libqhull-dev pkg-config \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home swt \
    && install -d -o swt /var/cache/swt /var/lib/swt-inbox

WORKDIR /opt/swt
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
COPY requirements.lock ./
RUN pip install --quiet --no-cache-dir --require-hashes -r requirements.lock -c requirements.lock

ENV UV_PYTHON_INSTALL_DIR=/opt/python
RUN test -z "${PYTHONS}" || uv python install --quiet ${PYTHONS}

# With its history: every row names the commit that wrote it. git asks whose a checkout is.
COPY . .
RUN pip install --quiet --no-deps --no-build-isolation -e . \
    && git config --system --add safe.directory /opt/swt

USER swt
ENV SWT_CACHE=/var/cache/swt SWT_DATABASE=/var/cache/swt/swt.duckdb SWT_INBOX=/var/lib/swt-inbox
CMD ["swt", "doctor"]
