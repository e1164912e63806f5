import type { Command } from 'commander'
import type { Channel } from '../app/ports/provider.ts'
import { describeConfig, loadConfig } from '../config.ts'
import { print } from './output.ts'
import { requireFiles, requirePricesOf } from './upstreams.ts'

/** Registers `tollgate config`. */
export function addConfig(program: Command): void {
  program
    .command('config')
    .description('print the effective configuration, secrets masked')
    .action(async () => {
      const shown = describeConfig()
      const config = loadConfig(undefined, { serving: true })
      const channels = await requireFiles(config)
      await requirePricesOf(config, channels)
      for (const [name, value] of Object.entries(shown)) print(`${name}=${value}`)
      for (const channel of channels ?? []) print(`# ${channelLine(channel)}`)
    })
}

/** A channel in words. */
function channelLine({ id, family, region, baseUrl, credential, models }: Channel): string {
  return [
    `channel ${id}: ${family} at ${baseUrl}`,
    ...(region === undefined ? [] : [`region ${region}`]),
    credential === undefined ? 'without a credential' : 'with a credential',
    `models ${Object.keys(models).join(', ')}`,
  ].join('; ')
}
