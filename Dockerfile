# Core, proofs, figures, documentation and LLM training in one image, from a checkout.
#     docker build -t policy-entropy .
#     docker run --gpus all policy-entropy train --help
# torch brings CUDA's libraries, the host brings the driver. For a smaller image without CUDA name the index of
# torch's CPU builds, as torch's instructions for installation do:
#     docker build --build-arg TORCH_OPTIONS='--index-url ...' -t policy-entropy:cpu .
# No test builds this image: that it builds was not tried.
FROM python:3.12-slim-bookworm
ARG TORCH_OPTIONS=""
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends coq libcoq-stdlib libcoq-coquelicot make g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /policy-entropy
COPY . .
# Editable: the main job ends with the site, which is made of the checkout's pages.
RUN pip install --no-cache-dir --constraint constraints.txt $TORCH_OPTIONS torch \
    && pip install --no-cache-dir --constraint constraints.txt --editable '.[llm,proofs,figures,fast,docs,notebooks]'
WORKDIR /work
ENTRYPOINT ["policy-entropy"]
CMD ["--help"]
