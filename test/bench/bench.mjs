// Measures the gateway, as it runs in production, beside other relays: npm run bench -- --help
import { Bench } from './harness/bench.mjs';
import { readOptions, USAGE } from './harness/options.mjs';

let bench;
try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(USAGE);
  else {
    bench = new Bench(options);
    console.log(JSON.stringify(await bench.run()));
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
