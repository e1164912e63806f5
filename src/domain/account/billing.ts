import { Type } from '@sinclair/typebox'
import { isPrintable } from '../../kernel/characters.ts'
import { readZone } from '../../kernel/read-zone.ts'
import {
  canonicalParty,
  MAX_REFERENCE_CHARACTERS,
  type Party,
  partyFingerprint,
  partyTerms,
  requireLine,
} from './party.ts'
import { accountSetting, invalidSetting, repeated, type SettingValue } from './setting.ts'

/** Languages of statements. */
export const billingLanguages = ['en', 'zh'] as const
/** Whether a tenant pays before or after it uses the gateway. */
export const billingTerms = ['prepaid', 'postpaid'] as const

type BillingLanguage = (typeof billingLanguages)[number]
export type BillingTerms = (typeof billingTerms)[number]
/** Whom statements are for, and by which terms the tenant is billed. */
export type BillingProfile = SettingValue<typeof billing>

/** The billing profile a tenant shall have: all of it. */
export interface WantedBillingProfile extends Party {
  readonly poNumber?: string | undefined
  readonly emails: readonly string[]
  readonly language: BillingLanguage
  /** Undefined, as each of the three that follow: unchanged. */
  readonly timeZone?: string | undefined
  readonly numberPrefix?: string | undefined
  readonly terms?: BillingTerms | undefined
  readonly graceHours?: number | undefined
}

export const MAX_EMAILS = 10
/** A path of SMTP is no longer. */
export const MAX_EMAIL_CHARACTERS = 254
/** Thirty days: a month is closed before the next one ends. */
export const MAX_GRACE_HOURS = 720
const DEFAULT_GRACE_HOURS = 72

const numberPrefixForm = /^[A-Z0-9][A-Z0-9-]{0,15}$/
const emailForm = /^[^\s@<>",;]+@[^\s@<>",;]+$/

const refuse: (param: string, message: string) => never = invalidSetting('billing')

export const billing = accountSetting({
  code: 'billing',
  title: 'billing details',
  type: 'BillingProfileSet',
  takesReason: true,
  terms: {
    ...partyTerms,
    /** The tenant's own purchase order. */
    poNumber: Type.Optional(Type.String()),
    /** Statements are for the people at these addresses. */
    emails: Type.Array(Type.String()),
    language: Type.Union(billingLanguages.map((word) => Type.Literal(word))),
    /** A name of the IANA database: billing months begin at its midnights. */
    timeZone: Type.String(),
    /** Begins the numbers of statements. */
    numberPrefix: Type.String(),
    terms: Type.Union(billingTerms.map((word) => Type.Literal(word))),
    /** Hours after the end of a month before it may be closed. */
    graceHours: Type.Integer({ minimum: 0, maximum: MAX_GRACE_HOURS }),
  },
  none: {
    legalName: '',
    address: [],
    country: '',
    emails: [],
    language: 'en',
    timeZone: 'UTC',
    numberPrefix: '',
    terms: 'prepaid',
    graceHours: DEFAULT_GRACE_HOURS,
  },
  canonical: ({ poNumber, ...wanted }: WantedBillingProfile, now) => {
    const { emails, language } = wanted
    const party = canonicalParty(refuse, wanted)
    if (poNumber !== undefined) requireLine(refuse, 'po_number', poNumber, MAX_REFERENCE_CHARACTERS)
    checkEmails(emails)
    requireOneOf('language', language, billingLanguages)
    return {
      ...party,
      ...(poNumber === undefined ? {} : { poNumber }),
      emails: [...emails],
      language,
      ...canonicalTerms(wanted, now),
    }
  },
  fingerprint: (profile) =>
    JSON.stringify([
      partyFingerprint(profile),
      profile.poNumber ?? null,
      profile.emails,
      profile.language,
      ...operatorMembers.map(([name]) => profile[name]),
    ]),
  /** Months, numbers and terms decide what is billed and when. */
  operatorsOnly: (wanted, now) => {
    const changed = operatorMembers.find(
      ([name]) => wanted[name] !== undefined && wanted[name] !== now[name],
    )
    if (changed === undefined) return undefined
    const [, param, title] = changed
    return { param, message: `Only an operator sets ${title}` }
  },
  words: ({ revision, legalName, country, numberPrefix, terms, timeZone }) =>
    `${legalName}, ${country}, ${terms}, ${numberPrefix} by the months of ${timeZone} (${revision})`,
})

/** Members that operators alone change: their names in events and in bodies, and in messages. */
const operatorMembers = [
  ['timeZone', 'time_zone', 'the time zone of billing months'],
  ['numberPrefix', 'number_prefix', 'the prefix of the numbers of statements'],
  ['terms', 'terms', 'the terms of payment'],
  ['graceHours', 'grace_hours', 'the hours before a month may be closed'],
] as const

interface OperatorTerms {
  readonly timeZone: string
  readonly numberPrefix: string
  readonly terms: BillingTerms
  readonly graceHours: number
}

function canonicalTerms(wanted: WantedBillingProfile, now: OperatorTerms): OperatorTerms {
  const { timeZone = now.timeZone, numberPrefix = now.numberPrefix } = wanted
  const { terms = now.terms, graceHours = now.graceHours } = wanted
  const zone = readZone(timeZone)
  // A zone that was set once stays valid, whatever the zone database of this process has.
  if ('fault' in zone && timeZone !== now.timeZone) refuse('time_zone', zone.fault)
  if (numberPrefix === '')
    refuse('number_prefix', 'is missing: an operator sets it before all else can be set')
  if (!numberPrefixForm.test(numberPrefix))
    refuse(
      'number_prefix',
      'must have 1 to 16 capital letters, digits and "-", and not begin with "-"',
    )
  requireOneOf('terms', terms, billingTerms)
  if (!Number.isInteger(graceHours) || graceHours < 0 || graceHours > MAX_GRACE_HOURS)
    refuse('grace_hours', `must be a whole number from 0 to ${MAX_GRACE_HOURS}`)
  return { timeZone, numberPrefix, terms, graceHours }
}

function checkEmails(emails: readonly string[]): void {
  if (emails.length > MAX_EMAILS) refuse('emails', `at most ${MAX_EMAILS} addresses`)
  for (const [index, email] of emails.entries())
    if (!isPrintable(email, MAX_EMAIL_CHARACTERS) || !emailForm.test(email))
      refuse(
        `emails[${index}]`,
        `must be an e-mail address of at most ${MAX_EMAIL_CHARACTERS} characters, such as billing@example.com`,
      )
  const twice = repeated(emails)
  if (twice !== undefined) refuse('emails', `${twice} is given twice`)
}

function requireOneOf(param: string, word: string, words: readonly string[]): void {
  if (!words.includes(word)) refuse(param, `must be ${words.join(' or ')}`)
}
