#!/usr/bin/env node
const OLDEST_MAJOR = 24;
const major = Number(process.versions.node.split('.')[0]);

// What the CLI imports does not load on an older Node, and would say so with a stack trace.
if (major >= OLDEST_MAJOR) {
  const { runCli } = await import('./cli/cli.js');
  process.exitCode = await runCli(process.argv.slice(2));
} else {
  process.stderr.write(
    `The gateway needs Node ${OLDEST_MAJOR} or newer; this is ${process.version}. npx gateway brings its own.\n`,
  );
  process.exitCode = 1;
}
