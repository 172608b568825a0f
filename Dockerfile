# Core, proofs, figures, documentation and LLM training in one image, from a checkout.
#     docker build -t policy-entropy .
#     docker run --gpus all -v "$PWD:/work" policy-entropy train --help
# What is written lands in the folder, as root's; with --user "$(id -u):$(id -g)" --env HOME=/tmp as yours.
# torch brings CUDA's libraries, the host brings the driver. For a smaller image without CUDA name the index of
# torch's CPU builds, as torch's instructions for installation do:
#     docker build --build-arg TORCH_OPTIONS='--index-url ...' -t policy-entropy:cpu .
# No test builds this image. It was built by Docker 20.10 on Debian 12 with Python 3.12 of its own, in place of
# the image named below, and ran without a network and without a GPU: proofs, the smoke job, the whole site.
FROM python:3.12-slim-bookworm
ARG TORCH_OPTIONS=""
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends coq libcoq-stdlib libcoq-coquelicot libcoq-interval make g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /policy-entropy
COPY . .
# Editable: the main job ends with the site, which is made of the checkout's pages.
RUN pip install --no-cache-dir --constraint constraints.txt $TORCH_OPTIONS torch \
    && pip install --no-cache-dir --constraint constraints.txt --editable '.[llm,proofs,figures,fast,docs,notebooks]'
WORKDIR /work
ENTRYPOINT ["policy-entropy"]
CMD ["--help"]
