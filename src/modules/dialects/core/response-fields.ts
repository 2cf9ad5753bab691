/** The fields of an answer in JSON, and of one in events; an engine's own are added. */
export const JSON_FIELDS: readonly string[] = ['content-type', 'application/json', 'x-content-type-options', 'nosniff'];
export const STREAM_FIELDS: readonly string[] = [
  ...['content-type', 'text/event-stream; charset=utf-8'],
  ...['cache-control', 'no-store', 'x-accel-buffering', 'no'],
];
