import { topic } from './line.js';

/** What a worker needs to begin: the configuration as the primary has checked it, not the file as it may be by now. */
export interface Beginning {
  readonly index: number;
  readonly workers: number;
  readonly text: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A series of metrics as prom-client writes it down. */
export interface MetricPage {
  readonly name: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** When it was learnt, on the machine's clock; of those series alone of which the processes know more or less lately. */
  readonly atMs?: number;
}

// The worker says that it is there, and is told who it is.
export const HERE = topic<null>('here');
export const BEGIN = topic<Beginning>('begin');
/** It listens. */
export const READY = topic<{ readonly listen: string }>('ready');
/** It cannot start, and no other one will. */
export const FAILED = topic<{ readonly message: string }>('failed');
/** It has begun to end by itself. */
export const LEAVING = topic<{ readonly reason: string }>('leaving');
/** Drain; a second time: end at once. */
export const END = topic<{ readonly reason: string }>('end');
export const READ_METRICS = topic<{ readonly turn: number }>('read-metrics');
export const METRICS = topic<{ readonly turn: number; readonly page: readonly MetricPage[] }>('metrics');
