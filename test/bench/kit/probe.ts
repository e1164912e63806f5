import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Probed } from '../peers/gateway-probe.ts'
import { compiled } from './build.ts'
import type { Closers } from './closers.ts'

const WRITTEN_TIMEOUT_MS = 60_000

/** What a gateway is started with, so that `probed` can note where its calls wait. */
export interface Probe {
  readonly env: Readonly<Record<string, string>>
  /** Notes it while `work` runs. */
  readonly during: <T>(
    pid: number,
    work: () => Promise<T>,
  ) => Promise<{ readonly result: T; readonly probed: Probed }>
}

/** Until it is asked to note something, it does nothing in the gateway. */
export async function createProbe(closers: Closers): Promise<Probe> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-probe-'))
  closers.later(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'probed.json')
  const read = async (): Promise<Probed> => {
    const untilMs = performance.now() + WRITTEN_TIMEOUT_MS
    for (;;) {
      const written = await readFile(file, 'utf8').catch(() => undefined)
      if (written !== undefined) return JSON.parse(written) as Probed
      if (performance.now() > untilMs) throw new Error('the probe of the gateway wrote nothing')
      await sleep(50)
    }
  }
  return {
    env: {
      NODE_OPTIONS: `--import=${pathToFileURL(compiled('test/bench/peers/gateway-probe')).href}`,
      BENCH_PROBE_FILE: file,
    },
    during: async (pid, work) => {
      process.kill(pid, 'SIGUSR2')
      try {
        return { result: await work(), probed: await end() }
      } finally {
        await rm(file, { force: true })
      }
      async function end(): Promise<Probed> {
        process.kill(pid, 'SIGUSR2')
        const probed = await read()
        if (Object.keys(probed.statements).length === 0)
          throw new Error('the probe saw no statement: the gateway has another library of Postgres')
        return probed
      }
    },
  }
}
