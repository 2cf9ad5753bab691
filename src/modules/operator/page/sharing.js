/** With whom the engines and budgets are shared, which processes this gateway is, and what of that is not as it should be. */
import { duration, plural } from './words.js';

/** A worker that has not answered for longer is said to be silent. */
const SILENT_MS = 3000;

const ENGINES = {
  none: (many) => (many ? 'each keeps to its share of the engines' : 'it has the engines to itself'),
  peers: () => 'they tell each other what they hold',
  redis: () => 'one store counts every slot',
};
const BUDGETS = {
  memory: (many) => (many ? 'each grants its share of the budgets' : ''),
  redis: () => 'one store counts the budgets',
};
const OUT = {
  none: '',
  peers: 'Other gateways do not answer: this one keeps to its share of the engines.',
  redis: 'The store that counts the slots is out: this gateway keeps to its share of the engines.',
};

/** One line on how it is meant to be. */
export function sharingWords({ sharing }, { workers }) {
  const { replicas, admission, budgets } = sharing;
  const many = replicas > 1;
  const parts = [ENGINES[admission](many), BUDGETS[budgets](many)].filter((part) => part !== '');
  const who = many ? `One of ${replicas} gateways` : 'The only gateway';
  return `${who}: ${parts.join(', and ')}.${workersWords(workers)}`;
}

function workersWords(workers) {
  if (workers === undefined) return '';
  const names = workers.map(
    ({ worker, pid, state }) => `${worker} (${pid}${state === 'draining' ? ', draining' : ''})`,
  );
  return ` Put together from ${plural(workers.length, 'worker process', 'worker processes')}: ${names.join(', ')}.`;
}

/** What is not so. */
export function sharingNotices({ out, state, workers }, about) {
  const notices = [];
  if (out.admission) notices.push({ key: 'admission store', tone: 'bad', text: OUT[about.sharing.admission] });
  if (out.budgets)
    notices.push({
      key: 'budget store',
      tone: 'bad',
      text: 'The store that counts the budgets is out: each gateway grants its share of them.',
    });
  if (workers !== undefined && state !== 'draining') notices.push(...workerNotices(workers, about));
  return notices;
}

function workerNotices(workers, { workers: wanted }) {
  const missing = wanted - workers.filter(({ state }) => state === 'serving').length;
  const notices = workers
    .filter(({ ageMs }) => ageMs > SILENT_MS)
    .map(({ worker, pid, ageMs }) => ({
      key: `silent ${pid}`,
      tone: 'bad',
      text: `Worker ${worker} (process ${pid}) does not answer: its part of the figures is ${duration(ageMs)} old.`,
    }));
  if (missing > 0)
    notices.push({
      key: 'missing',
      tone: 'bad',
      text: `${missing} of ${plural(wanted, 'worker')} ${missing === 1 ? 'does' : 'do'} not serve, and what is known there is not here: started again by itself.`,
    });
  return notices;
}
