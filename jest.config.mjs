const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  setupFiles: ['<rootDir>/test/support/setup.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          target: 'es2022',
        },
        module: { type: 'es6' },
      },
    ],
  },
};

/**
 * What measures times, memory or processor time, or counts on a store's patience: it has the machine to itself. All
 * else runs two files at a time (see scripts/run-tests.mjs).
 */
const ALONE = [
  ...['admission-load', 'auth-rotation', 'budgets-redis', 'capacity', 'client-leaves', 'client-leaves-at-once'],
  ...['endurance', 'engine-trouble', 'exact', 'fuzz', 'fuzz-engine', 'rolling-restart', 'several-gateways'],
  ...['slow-clients', 'soak', 'upstream-faults', 'workers', 'workers-end'],
].map((name) => `<rootDir>/test/e2e/${name}.e2e-spec.ts`);
const LIVE_STORES = '<rootDir>/src/**/*.live.spec.ts';

/** One project a kind of test, so that each can be run alone: npm test -- --selectProjects unit */
export default {
  testTimeout: 30_000,
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/{support,conformance}/**/*.spec.ts'],
      testPathIgnorePatterns: ['/node_modules/', '\\.live\\.spec\\.ts$'],
    },
    { ...common, displayName: 'architecture', testMatch: ['<rootDir>/test/architecture/**/*.spec.ts'] },
    { ...common, displayName: 'deploy', testMatch: ['<rootDir>/test/deploy/**/*.spec.ts'] },
    { ...common, displayName: 'conformance', testMatch: ['<rootDir>/test/conformance/**/*.e2e-spec.ts'] },
    {
      ...common,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.e2e-spec.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...ALONE],
    },
    { ...common, displayName: 'alone', testMatch: [LIVE_STORES, '<rootDir>/test/bench/*.spec.ts', ...ALONE] },
  ],
};
