import type { Command } from 'commander'
import { readIssuer, setIssuer } from '../app/finance/statements/issuer.ts'
import type { IssuerProfile } from '../domain/issuer/decider.ts'
import { type ActorOption, changing, depsOf, JSON_OPTION, onStores } from './command.ts'
import { note, print, toJson, UsageError } from './output.ts'
import type { Session } from './session.ts'

const SET_HELP = `
The first profile names at least --legal-name, --address and --country. A statement shows the profile of its close.

  tollgate issuer set --legal-name 'Tollgate Services Ltd' --address '1 Gate Street' London --country GB
  tollgate issuer set --tax-id none`

/** Registers `tollgate issuer …`. */
export function addIssuer(program: Command): void {
  const group = program.command('issuer').description('whom the statements of all tenants are from')
  changing(group.command('set'))
    .description('set the named values; others are unchanged')
    .option('--legal-name <name>', 'name that statements are from')
    .option('--address <lines...>', 'lines of the address, without the country')
    .option('--country <code>', 'country by ISO 3166-1, such as CN')
    .option('--tax-id <id>', 'tax number; or none')
    .addHelpText('after', SET_HELP)
    .action(onStores(setIssuerCommand))
  group
    .command('show')
    .description('the issuer of statements')
    .option(...JSON_OPTION)
    .action(onStores(showIssuerCommand))
}

interface IssuerOptions extends ActorOption {
  readonly json?: boolean
  readonly legalName?: string
  readonly address?: readonly string[]
  readonly country?: string
  readonly taxId?: string
}

const unset: IssuerProfile = { revision: 0, legalName: '', address: [], country: '' }

function showIssuer(profile: IssuerProfile, json: boolean | undefined): void {
  const { revision, legalName, address, country, taxId } = profile
  if (json) return print(toJson(profile))
  print(`issuer (revision ${revision})`)
  if (revision === 0) return print('statements from: not set')
  print(`statements from: ${[legalName, ...address, country].join(', ')}`)
  print(`tax number: ${taxId ?? 'none'}`)
}

/** `tollgate issuer show` */
async function showIssuerCommand(
  { log }: Session,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const { profiles } = await readIssuer(log)
  showIssuer(profiles.at(-1) ?? unset, json)
}

/** `tollgate issuer set` */
async function setIssuerCommand(session: Session, options: IssuerOptions): Promise<void> {
  const { actor: _actor, json, ...given } = options
  if (Object.keys(given).length === 0)
    throw new UsageError('name a value to set, such as --legal-name or --tax-id')
  const { profiles } = await readIssuer(session.log)
  const now = profiles.at(-1) ?? unset
  const { legalName = now.legalName, address = now.address, country = now.country } = options
  const taxId = options.taxId === 'none' ? undefined : (options.taxId ?? now.taxId)
  const wanted = { legalName, address, country, taxId }
  const done = await setIssuer(depsOf(session, options), { wanted, basis: now.revision })
  if (!done.changed) note('unchanged')
  showIssuer(done.profile, json)
}
