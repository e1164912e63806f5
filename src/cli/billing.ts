import type { Command } from 'commander'
import { managedBilling } from '../app/accounts/settings.ts'
import {
  type BillingProfile,
  billingLanguages,
  billingTerms,
  type WantedBillingProfile,
} from '../domain/account/billing.ts'
import { UsageError } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { changingWithReason, JSON_OPTION, oneOf, onStores } from './command.ts'

const SET_HELP = `
The first profile names at least --legal-name, --address, --country and --number-prefix. Statements begin each month at
midnight of --time-zone; "prepaid" tenants pay by credit, "postpaid" ones afterwards, which decides BilledCost in a FOCUS
file of what is used and granted from then on.

  tollgate billing set --tenant acme --legal-name 'Acme Film GmbH' --address 'Torstr. 1' '10119 Berlin' --country DE \\
    --emails billing@acme.example --time-zone Europe/Berlin --number-prefix ACME
  tollgate billing set --tenant acme --terms postpaid --po-number none`

/** Registers `tollgate billing …`. */
export function addBilling(program: Command): void {
  const group = program
    .command('billing')
    .description('whom the statements of a tenant are for, and by which terms it is billed')
  changingWithReason(group.command('set'))
    .description('set the named values; others are unchanged')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--legal-name <name>', 'name that statements are for')
    .option('--address <lines...>', 'lines of the address, without the country')
    .option('--country <code>', 'country by ISO 3166-1, such as CN')
    .option('--tax-id <id>', 'tax number; or none')
    .option('--po-number <number>', 'purchase order of the tenant; or none')
    .option('--emails <addresses>', 'e-mail addresses, with commas between; or none')
    .option('--language <language>', `language of statements: ${billingLanguages.join(' or ')}`)
    .option('--time-zone <name>', 'IANA time zone of billing months, such as Asia/Shanghai')
    .option('--number-prefix <prefix>', 'begins the numbers of statements')
    .option('--terms <terms>', billingTerms.join(' or '))
    .option('--grace-hours <hours>', 'hours after the end of a month before it may be closed')
    .addHelpText('after', SET_HELP)
    .action(onStores(setBillingCommand))
  group
    .command('show')
    .description('the billing profile')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(commands.show))
}

const commands = settingCommands(managedBilling, (_session, tenantId, profile) => ({
  json: { tenantId, ...profile },
  lines: [
    `${tenantId}: billing (revision ${profile.revision})`,
    ...(profile.revision === 0 ? ['statements for: not set'] : partyLines(profile)),
    `language: ${profile.language}`,
    `months of: ${profile.timeZone}`,
    `terms: ${profile.terms}, closed ${profile.graceHours} hours after a month at the earliest`,
  ],
}))

function partyLines(profile: BillingProfile): readonly string[] {
  const { legalName, address, country, taxId, poNumber, emails, numberPrefix } = profile
  return [
    `statements for: ${[legalName, ...address, country].join(', ')}`,
    `tax number: ${taxId ?? 'none'}`,
    `purchase order: ${poNumber ?? 'none'}`,
    `e-mail: ${emails.length === 0 ? 'none' : emails.join(', ')}`,
    `numbers begin with: ${numberPrefix}`,
  ]
}

interface BillingOptions extends OfTenant {
  readonly legalName?: string
  readonly address?: readonly string[]
  readonly country?: string
  readonly taxId?: string
  readonly poNumber?: string
  readonly emails?: string
  readonly language?: string
  readonly timeZone?: string
  readonly numberPrefix?: string
  readonly terms?: string
  readonly graceHours?: string
}

/** `tollgate billing set` */
async function setBillingCommand(session: Session, options: BillingOptions): Promise<void> {
  const { tenant: _tenant, actor: _actor, json: _json, ...given } = options
  if (Object.keys(given).length === 0)
    throw new UsageError('name a value to set, such as --terms or --legal-name')
  const language = oneOf('--language', billingLanguages, options.language)
  const terms = oneOf('--terms', billingTerms, options.terms)
  const graceHours = hoursOf(options.graceHours)
  const list = options.emails?.split(',').map((email) => email.trim())
  await commands.change(session, options, (now): WantedBillingProfile => ({
    legalName: options.legalName ?? now.legalName,
    address: options.address ?? now.address,
    country: options.country ?? now.country,
    taxId: textOrNone(options.taxId, now.taxId),
    poNumber: textOrNone(options.poNumber, now.poNumber),
    emails: options.emails === 'none' ? [] : (list ?? now.emails),
    language: language ?? now.language,
    timeZone: options.timeZone,
    numberPrefix: options.numberPrefix,
    terms,
    graceHours,
  }))
}

const textOrNone = (given: string | undefined, now: string | undefined): string | undefined =>
  given === 'none' ? undefined : (given ?? now)

function hoursOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (!/^\d{1,3}$/.test(given)) throw new UsageError('--grace-hours must be a whole number')
  return Number(given)
}
