import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { CrashPoint, CrashPointName } from '../../../src/app/crash-points.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import type { TextWorld } from '../calls/support/text-world.ts'
import { nodeArguments } from '../../helpers/checkout.ts'

/** What a process is that is as good as dead once it reaches a point: nothing it does has an effect. */
interface Mortality {
  readonly isDead: () => boolean
  readonly log: EventLog
  readonly crashPoint: CrashPoint
}

export function mortality(log: EventLog, at: CrashPointName): Mortality {
  let dead = false
  return {
    isDead: () => dead,
    log: {
      ...log,
      append: (...given) =>
        dead
          ? Promise.reject(new DomainError('log_unavailable', 'dead', {}))
          : log.append(...given),
    },
    crashPoint: (name) => {
      if (dead || name === at) {
        dead = true
        throw new Error(`died at ${at}`)
      }
    },
  }
}

/** Starts one of the children of this folder in a process of its own, beside a world, to be killed at a point. */
export function mortal(world: TextWorld, namespace: string, child: URL, order: object) {
  const started = spawn(process.execPath, nodeArguments(child), {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const place = {
    eventStoreUrl: world.store.url,
    namespace,
    databaseUrl: world.pool.options.connectionString,
    sandboxUrl: world.sandbox.url,
  }
  started.stdin.end(JSON.stringify({ ...place, ...order }))
  return {
    output: started.stdout,
    kill: () => started.kill('SIGKILL'),
    pause: () => started.kill('SIGSTOP'),
    resume: () => started.kill('SIGCONT'),
    /** The signal that ended it; null where it ended by itself. */
    ended: once(started, 'exit').then(([, signal]) => signal as string | null),
  }
}
