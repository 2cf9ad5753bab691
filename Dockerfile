# Tags, not digests: a digest cannot be looked up where no registry is reachable. Whoever publishes pins both.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && node scripts/assemble-app.mjs /app

# No shell, no package manager; scripts/build-image.mjs makes the same without a registry.
FROM gcr.io/distroless/nodejs24-debian12:nonroot
COPY --from=build /app /app
WORKDIR /app
# By number: Kubernetes cannot tell whether a name is root.
USER 65532:65532
ENV NODE_ENV=production
# SIGUSR1 opens no debugger. Half of the container's memory is the heap; bodies and sockets are outside of it.
ENTRYPOINT ["/nodejs/bin/node", "--disable-sigusr1", "--max-old-space-size-percentage=50", "--max-semi-space-size=6", "--heap-growing-percent=100", "--no-memory-reducer-favors-memory", "--no-maglev-destroy-on-background", "/app/dist/main.js"]
CMD ["serve"]
