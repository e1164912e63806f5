import type { Command } from 'commander'
import { describeConfig, loadConfig } from '../../config.ts'
import { print } from '../output.ts'

/** Registers what runs on its own configuration: `tollgate serve`, `sandbox` and `config`. */
export function addServing(program: Command): void {
  program
    .command('serve')
    .description('run the gateway; with nothing configured, on embedded stores and the sandbox')
    .option('--role <list>', 'what this process does: api, projector, worker', undefined)
    .action(async (options: { role?: string }) => {
      const config = loadConfig(undefined, { serving: true })
      const { serve } = await import('../serve.ts')
      await serve(config, program.version() ?? '', options.role)
    })
  program
    .command('sandbox')
    .description('run only the simulated providers; arguments are passed on to them')
    .allowUnknownOption()
    .argument('[args...]')
    .action(async (args: string[]) => (await import('../sandbox.ts')).runSandbox(args))
  program
    .command('config')
    .description('print the effective configuration, secrets masked')
    .action(() => {
      const shown = describeConfig()
      loadConfig(undefined, { serving: true })
      for (const [name, value] of Object.entries(shown)) print(`${name}=${value}`)
    })
}
