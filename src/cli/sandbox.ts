import type { Command } from 'commander'
import { superviseChild } from '../../infra/embedded/supervised-child.ts'
import { programFile } from '../platform/program-files.ts'
import { CommandError, note } from './output.ts'

const READY_TIMEOUT_MS = 30_000

/** Registers `tollgate sandbox`. */
export function addSandbox(program: Command): void {
  program
    .command('sandbox')
    .description('run only the simulated providers; arguments are passed on to them')
    .allowUnknownOption()
    .argument('[args...]')
    .action(runSandbox)
}

/** Runs the simulated providers alone, until a signal. @throws CommandError when they keep failing */
async function runSandbox(args: readonly string[]): Promise<void> {
  let giveUp: (reason: string) => void = () => undefined
  const gaveUp = new Promise<string>((resolve) => (giveUp = resolve))
  const child = superviseChild({
    name: 'sandbox',
    modulePath: programFile('infra/sandbox/main.ts'),
    // After a restart where it was before: of two ports the last one counts.
    args: (last) => (last === undefined ? args : [...args, '--port', new URL(last.url).port]),
    onLine: note,
    readyTimeoutMs: READY_TIMEOUT_MS,
    onRestart: ({ reason }) => note(`the sandbox restarts: ${reason.split('\n')[0]}`),
    onGiveUp: (reason) => giveUp(reason),
  })
  const { url } = await child.ready
  note(`the sandbox is ready at ${url}`)
  const signalled = new Promise<undefined>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      process.on(signal, () => resolve(undefined))
  })
  const reason = await Promise.race([signalled, gaveUp])
  await child.stop()
  if (reason !== undefined) throw new CommandError(`the sandbox keeps failing: ${reason}`)
}
