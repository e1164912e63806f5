import type { Command } from 'commander'
import type { Channel } from '../app/ports/provider.ts'
import { describeConfig } from '../config.ts'
import { checkConfiguration, parseRoles } from './check.ts'
import { note, print } from './output.ts'
import { storeChecks } from './store-checks.ts'

const CONFIG_HELP = `
All faults are listed together. With --stores also: Postgres has version 15 or newer, and its account the rights that the
roles need; the event store has a leader, and its account may read and append; both clocks are within 2 s of this
machine's; log and database belong together, and MARKER_SECRET is that of the other replicas; an object of a bucket can
be put, read and deleted. Nothing is left in a store but an event in the stream of probes.`

/** Registers `tollgate config`. */
export function addConfig(program: Command): void {
  program
    .command('config')
    .description('check the configuration as serve does, and print it, secrets masked')
    .option('--role <list>', 'of a process that does this: api, projector, worker', undefined)
    .option('--stores', 'ask the stores too; what is away may come back within 5 s')
    .addHelpText('after', CONFIG_HELP)
    .action(async ({ role, stores }: { readonly role?: string; readonly stores?: boolean }) => {
      const shown = describeConfig()
      const wanted = parseRoles(role)
      const further = stores ? storeChecks(wanted) : undefined
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
