import type { Command } from 'commander'
import type { Channel } from '../app/ports/provider.ts'
import { describeConfig } from '../config.ts'
import { checkConfiguration, parseRoles } from './check.ts'
import { note, print, UsageError } from './output.ts'
import { storeChecks } from './store-checks.ts'

const CONFIG_HELP = `
All faults are listed together. With --stores also: Postgres has version 15 or newer, room for the connections of all
replicas, and rights for its account as the roles need them; the event store has a leader, and its account may read and
append; both clocks are within 2 s of this machine's; log and database belong together, and MARKER_SECRET is that of the
other replicas; an object of a bucket can be put, read and deleted. Nothing is left in a store but an event in the
stream of probes.`

interface ConfigOptions {
  readonly role?: string
  readonly stores?: boolean
  readonly replicas?: string
}

/** Registers `tollgate config`. */
export function addConfig(program: Command): void {
  program
    .command('config')
    .description('check the configuration as serve does, and print it, secrets masked')
    .option('--role <list>', 'of a process that does this: api, projector, worker', undefined)
    .option('--stores', 'ask the stores too; what is away may come back within 5 s')
    .option('--replicas <n>', 'with --stores: processes like it that share the stores; default: 1')
    .addHelpText('after', CONFIG_HELP)
    .action(async ({ role, stores, replicas }: ConfigOptions) => {
      const shown = describeConfig()
      const wanted = parseRoles(role)
      if (replicas !== undefined && stores !== true)
        throw new UsageError('--replicas is for --stores')
      if (!/^[1-9]\d{0,3}$/.test(replicas ?? '1'))
        throw new UsageError('--replicas must be a whole number from 1 to 9999')
      const further = stores ? storeChecks(wanted, Number(replicas ?? 1)) : undefined
      const { channels, warnings } = await checkConfiguration(wanted, further)
      for (const warning of warnings) note(`warning: ${warning}`)
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
