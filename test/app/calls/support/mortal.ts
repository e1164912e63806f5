import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { nodeArguments } from '../../../helpers/checkout.ts'
import type { TextWorld } from './text-world.ts'

/**
 * Starts one of the children of this folder in a separate process, beside a world, to be killed at
 * a point.
 */
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
