import { runCommandLine } from '../../../src/cli/command-line.ts'
import { watchOutput } from '../../../src/cli/output.ts'
import { type Done, END, type Order } from './commands.ts'

/** The command line in a process that stays for the next command: it has loaded what commands need. */

watchOutput()

/** How the command ended, as its process would have. */
function outcome(): Done {
  return { code: Number(process.exitCode ?? 0) }
}

async function run({ args, env, cwd }: Order): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  process.exitCode = undefined
  await runCommandLine('0.0.0-test', args)
  process.stdout.write(END)
  process.stderr.write(END)
  process.send?.(outcome())
}

process.on('message', (order: Order) => void run(order))
process.on('disconnect', () => process.exit())
