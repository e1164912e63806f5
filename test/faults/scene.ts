import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Answer, Call } from './driver/caller.ts'
import { LEASES_MS } from './driver/lives.ts'
import { signal, type Target } from './driver/processes.ts'
import { TASKS } from './driver/tasks/video-a.ts'
import { Trial, type TrialOptions } from './driver/trial.ts'
import type { Difference } from './driver/witness.ts'
import { builtProduct } from '../helpers/product.ts'
import { removeFolder } from '../helpers/remove-folder.ts'

/** A directory of the test's own that Postgres gets through to under whatever account it runs. */
export async function freshDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-faults-'))
  await chmod(directory, 0o711)
  t.teardown(() => removeFolder(directory))
  return join(directory, 'run')
}

/** A running gateway whose surroundings a test breaks, one after the other. */

const RECOVERY_TIMEOUT_MS = 180_000
const RECOVERY_PAUSE_MS = 250
const KILL_PAUSE_MS = 50

export interface Scene {
  readonly trial: Trial
  readonly call: Call
  /** Creates a task; `switches` are the sandbox's. */
  readonly create: (...switches: readonly string[]) => Promise<Answer>
  readonly get: (id: string) => Promise<Answer>
  readonly remove: (id: string) => Promise<Answer>
  /** Creates until one succeeds: the service is back. Returns the native id. */
  readonly recovered: () => Promise<string>
  /** Asks until a task has this status. */
  readonly reaches: (id: string, status: string) => Promise<void>
  /** Creations that arrived upstream, refused ones too. */
  readonly sentUpstream: () => Promise<number>
  /** Holds the processes of a store without ending them; call the result to let them go on. */
  readonly freeze: (target: Target) => () => void
  /** Kills what a target stands for again and again, so that it is away until this has ended. */
  readonly keepAway: <T>(targets: readonly Target[], meanwhile: () => Promise<T>) => Promise<T>
  /** Everything settles, nothing differs, the books are equal. */
  readonly judge: (options?: { readonly clocksDiffer?: boolean }) => Promise<void>
}

export async function openScene(
  t: Test,
  options: Pick<TrialOptions, 'settableClock'> = {},
): Promise<Scene> {
  const directory = await freshDirectory(t)
  const say = (): void => undefined
  const trial = await Trial.open({
    build: await builtProduct(),
    directory,
    seed: 1,
    say,
    ...options,
  })
  t.teardown(() => trial.close())
  return sceneOf(t, trial)
}

function sceneOf(t: Test, trial: Trial): Scene {
  const { machine, sandbox, witness } = trial
  const call = trial.caller()
  let made = 0

  const ask = async (operation: string, method: string, path: string, body?: unknown) => {
    const answer = await call(operation, method, path, body === undefined ? {} : { body })
    // Whatever is broken, a caller hears something before it gives up.
    if (answer === undefined) throw new Error(`${operation}: no answer`)
    return answer
  }

  const create = async (...switches: readonly string[]): Promise<Answer> => {
    made += 1
    const marker = `scene-${made}`
    const priced = { model: 'domestic-video-2-0-mini', resolution: '480p', hasVideo: false }
    const intended = witness.intend({ marker, family: 'video-a', priced, listed: {} })
    const words = ['queued-ms=0', 'running-ms=300', 'tokens=1000', ...switches].join(' ')
    const text = `a paper boat [[client=${marker}]] [[sandbox ${words}]]`
    const { model, resolution } = priced
    const body = { model, resolution, duration: 5, content: [{ type: 'text', text }] }
    const answer = await ask('create', 'POST', TASKS, body)
    const platformId = answer.headers.get('x-platform-id')
    if (platformId !== null) intended.platformIds.add(platformId)
    if (answer.status === 200) intended.nativeIds.add(String(answer.body['id']))
    return answer
  }
  const get = (id: string): Promise<Answer> => ask('get', 'GET', `${TASKS}/${id}`)

  const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
    const untilMs = performance.now() + RECOVERY_TIMEOUT_MS
    for (;;) {
      const found = await look()
      if (found !== undefined) return found
      if (performance.now() > untilMs) throw new Error(`it never came: ${what}\n${machine.tail()}`)
      await sleep(RECOVERY_PAUSE_MS)
    }
  }

  return {
    trial,
    call,
    create,
    get,
    remove: (id) => ask('delete', 'DELETE', `${TASKS}/${id}`),
    recovered: () =>
      until('a creation that succeeds', async () => {
        const answer = await create()
        return answer.status === 200 ? String(answer.body['id']) : undefined
      }),
    reaches: (id, status) =>
      until(`${id} as ${status}`, async () =>
        (await get(id)).body['status'] === status ? true : undefined,
      ).then(() => undefined),
    sentUpstream: async () => (await sandbox.requests())['video-a.create']?.count ?? 0,
    freeze: (target) => {
      const pids = machine.processes(target)
      if (pids.length === 0) throw new Error(`there is no ${target} to hold`)
      for (const pid of pids) signal(pid, 'SIGSTOP')
      const thaw = (): void => pids.forEach((pid) => void signal(pid, 'SIGCONT'))
      t.teardown(thaw)
      return thaw
    },
    keepAway: async (targets, meanwhile) => {
      const over = new AbortController()
      const found = meanwhile().finally(() => over.abort())
      while (!over.signal.aborted) {
        for (const target of targets) machine.kill(target)
        await sleep(KILL_PAUSE_MS)
      }
      return found
    },
    judge: async ({ clocksDiffer = false } = {}) => {
      // What waits for its next look upstream need not be waited for here.
      await machine.stop()
      await machine.start({ clockAheadMs: LEASES_MS })
      // Whether the intent came first is judged by comparing the gateway's clock with upstream's.
      const excused = ({ code }: Difference): boolean => clocksDiffer && code === 'intent_too_late'
      await trial.conclude(await trial.settle('present', excused))
      t.same([...witness.differences, ...trial.differences], [], 'nothing differs')
    },
  }
}

/** The code of a failure in this family's shape. */
export function codeOf({ body }: Answer): unknown {
  return (body['error'] as { readonly code?: unknown } | undefined)?.code
}
