/** Chat's time to the first token, in seconds, and the share of chat that was turned away. */
export interface ChatFigure {
  readonly p50: number;
  readonly p99: number;
  readonly refused?: number;
}

/**
 * What the simulation that the algorithm was designed on gave for a policy: three gateways, two endpoints of four slots.
 * Absent: it has no figure.
 */
export interface ReferenceRow {
  readonly chat: Readonly<Record<string, ChatFigure>>;
  /** S2: platinum's p99 over its p99 on idle engines, to the first token and to the last. */
  readonly platinum: readonly [firstToken: number, lastToken: number];
  readonly jain?: number;
}

const chat = (p50: number, p99: number, refused?: number): ChatFigure =>
  refused === undefined ? { p50, p99 } : { p50, p99, refused };

/** By policy. The controller's with one gateway are held against the design's exact store. */
export const REFERENCE: Readonly<Record<string, ReferenceRow>> = {
  none: {
    chat: { S1: chat(57, 643), S3: chat(180, 583), S5: chat(145, 189), S6: chat(262, 293) },
    platinum: [1_798, 194],
    jain: 0.33,
  },
  'per-gateway': {
    chat: { S1: chat(0.9, 570, 0.41), S3: chat(119, 376, 0.48), S5: chat(118, 143, 0.17), S6: chat(119, 148, 0.2) },
    platinum: [228, 26],
    jain: 0.33,
  },
  gauges: {
    chat: { S1: chat(0.9, 250, 0.11), S3: chat(97, 379, 0.37), S5: chat(283, 324), S6: chat(99, 314, 0.24) },
    platinum: [1_806, 194],
    jain: 0.32,
  },
  ledger: {
    chat: { S1: chat(0.9, 263, 0.11), S3: chat(107, 122, 0.33), S5: chat(130, 222), S6: chat(84, 122, 0.23) },
    platinum: [192, 22],
    jain: 0.33,
  },
  bands: {
    chat: { S1: chat(0.9, 305, 0.09), S3: chat(36, 305), S5: chat(131, 147), S6: chat(48, 73) },
    platinum: [79, 9.8],
    jain: 0.4,
  },
  share: {
    chat: { S1: chat(2.1, 238), S3: chat(2.3, 28), S5: chat(13, 28), S6: chat(2.3, 13) },
    platinum: [13.5, 2.6],
    jain: 0.92,
  },
  peers: {
    chat: { S1: chat(0.9, 61), S3: chat(1.1, 10), S5: chat(3.4, 12), S6: chat(2.7, 13) },
    platinum: [14.7, 2.5],
    jain: 0.99,
  },
  exact: {
    chat: { S1: chat(0.9, 61), S3: chat(0.9, 8), S5: chat(2.6, 9), S6: chat(0.9, 7) },
    platinum: [8.9, 1.8],
    jain: 0.99,
  },
  controller: {
    chat: { S1: chat(0.9, 61), S3: chat(0.9, 8), S5: chat(2.6, 9), S6: chat(0.9, 7) },
    platinum: [8.9, 1.8],
    jain: 0.99,
  },
  strict: { chat: { S3: chat(0.9, 7) }, platinum: [3.1, 1.3] },
};
