import type { Command } from 'commander'
import { describeConfig, loadConfig } from '../config.ts'
import { print } from './output.ts'
import { requireFiles } from './upstreams.ts'

/** Registers `tollgate config`. */
export function addConfig(program: Command): void {
  program
    .command('config')
    .description('print the effective configuration, secrets masked')
    .action(async () => {
      const shown = describeConfig()
      await requireFiles(loadConfig(undefined, { serving: true }))
      for (const [name, value] of Object.entries(shown)) print(`${name}=${value}`)
    })
}
