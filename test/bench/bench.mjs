// Measures the gateway, as it runs in production, beside other relays: npm run bench -- --help
import { writeFileSync } from 'node:fs';
import { Bench } from './harness/bench.mjs';
import { readOptions, USAGE } from './harness/options.mjs';
import { figuresText, reportText, writeReport } from './report/write-report.mjs';

const NEEDED_NODE = 24;

let bench;
try {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < NEEDED_NODE)
    throw new Error(`this is Node ${major}: npm run bench takes the Node ${NEEDED_NODE} of this project`);
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(USAGE);
  else {
    bench = new Bench(options);
    const modes = await bench.run();
    console.log(reportText(modes));
    if (options.out !== undefined) writeFileSync(options.out, figuresText(modes));
    if (options.write) writeReport(modes);
  }
} catch (error) {
  // Whoever interrupts it need not be told that what ran has broken off.
  if (bench?.interrupted !== true) {
    console.error(error.message);
    process.exitCode = 1;
  }
} finally {
  await bench?.end();
}
