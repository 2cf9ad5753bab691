/** Renders at most once at a time: whoever asks meanwhile gets what those get who have asked before. */
export function sharedRendering(render: () => Promise<string>): () => Promise<string> {
  let running: Promise<string> | undefined;
  return () => {
    running ??= render().finally(() => {
      running = undefined;
    });
    return running;
  };
}
