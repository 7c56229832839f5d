# A server for CPUs. ./runs must hold at least one trained model:
#   docker build --tag regard .
#   docker run --rm --publish 127.0.0.1:8000:8000 --volume "$PWD/runs:/models:ro" regard
# Any other command works as well: docker run --rm regard translate --help
FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/regard
COPY constraints.txt ./
# torch for CPUs has an index of its own; the build on PyPI brings CUDA, several gigabytes. A layer of its own, as it
# changes less often than the code.
RUN /opt/regard/bin/pip install --no-deps --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' constraints.txt)"
COPY pyproject.toml README.md LICENSE ./
COPY recipes recipes
COPY src src
RUN /opt/regard/bin/pip install --constraint constraints.txt '.[ctranslate2]'

FROM python:3.11-slim-bookworm
COPY --from=build /opt/regard /opt/regard
# PASSIVE: threads that wait sleep, which matters where a container has few cores.
ENV PATH=/opt/regard/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=PASSIVE
RUN useradd --create-home --uid 10001 regard && mkdir /models && chown regard /models
USER regard
WORKDIR /home/regard
EXPOSE 8000
# Alive, not ready: while its models load, the server already shows the page and answers /readyz with 503.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/livez', timeout=4)"]
ENTRYPOINT ["regard"]
# Inside a container 0.0.0.0 is the container's own network; --publish decides who reaches it.
CMD ["serve", "/models", "--host", "0.0.0.0"]
