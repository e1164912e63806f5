import { superviseChild } from '../../infra/embedded/supervisor.ts'
import { note } from './output.ts'

const READY_TIMEOUT_MS = 30_000

/** Runs the simulated providers alone, until a signal. */
export async function runSandbox(args: readonly string[]): Promise<void> {
  const child = superviseChild({
    name: 'sandbox',
    modulePath: new URL('../../infra/sandbox/main.ts', import.meta.url),
    args: () => args,
    onLine: note,
    readyTimeoutMs: READY_TIMEOUT_MS,
  })
  const { url } = await child.ready
  note(`the sandbox is ready at ${url}`)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      process.on(signal, () => resolve())
  })
  await child.stop()
}
