import { readdir, readFile } from 'node:fs/promises';

/** The processes that a process has started. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** The one that has the most files and sockets open. */
export async function busiestOf(pids: readonly number[]): Promise<number> {
  const counted = await Promise.all(
    pids.map(async (pid) => ({ pid, open: (await readdir(`/proc/${String(pid)}/fd`)).length })),
  );
  return counted.sort((a, b) => b.open - a.open)[0]?.pid ?? 0;
}
