import type { Deployment, Labels, Selector } from '../kube-objects.js';

/** Every pair of the first is in the second. */
export const within = (wanted: Labels | undefined, labels: Labels | undefined): boolean =>
  wanted !== undefined && Object.entries(wanted).every(([key, value]) => labels?.[key] === value);

/** The selector finds the gateway's pods. */
export const selects = ({ matchLabels }: Selector, { spec }: Deployment): boolean =>
  within(matchLabels, spec.template.metadata.labels);
