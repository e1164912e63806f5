import { Type } from 'typebox'
import { managedBilling } from '../../app/accounts/settings.ts'
import {
  billingLanguages,
  billingTerms,
  MAX_ADDRESS_CHARACTERS,
  MAX_ADDRESS_LINES,
  MAX_EMAIL_CHARACTERS,
  MAX_EMAILS,
  MAX_GRACE_HOURS,
  MAX_LEGAL_NAME_CHARACTERS,
  MAX_REFERENCE_CHARACTERS,
} from '../../domain/account/billing.ts'
import { expectedRevision, settingRoutes } from './settings.ts'

const textOf = (maxLength: number, description: string) => Type.String({ maxLength, description })
const orNull = (description: string, maxLength?: number) =>
  Type.Union([Type.String(maxLength === undefined ? {} : { maxLength }), Type.Null()], {
    description,
  })

const address = Type.Array(Type.String({ maxLength: MAX_ADDRESS_CHARACTERS }), {
  maxItems: MAX_ADDRESS_LINES,
  description: 'The lines of the address, without the country.',
})
const emails = Type.Array(Type.String({ maxLength: MAX_EMAIL_CHARACTERS }), {
  maxItems: MAX_EMAILS,
  description: 'E-mail addresses of those who get statements.',
})
const language = Type.Enum([...billingLanguages], { description: 'The language of statements.' })
const timeZone = Type.String({
  maxLength: 64,
  description: 'UTC or a zone of the IANA database, by which billing months begin. Operators only.',
})
const terms = Type.Enum([...billingTerms], {
  description: 'Whether the tenant pays before or after it uses the gateway. Operators only.',
})
const graceHours = Type.Integer({
  minimum: 0,
  maximum: MAX_GRACE_HOURS,
  description: 'Hours after the end of a month before it may be closed. Operators only.',
})
const PREFIX = 'Begins the numbers of statements: capital letters, digits and `-`. Operators only.'
const TAX_ID = 'Tax number, as statements show it'
const PO_NUMBER = "The tenant's purchase order"
const NONE = 'absent or null: none.'

const BillingBody = Type.Object(
  {
    legal_name: textOf(MAX_LEGAL_NAME_CHARACTERS, 'The name that statements are for.'),
    address,
    country: textOf(2, 'ISO 3166-1, two capital letters.'),
    tax_id: Type.Optional(orNull(`${TAX_ID}; ${NONE}`, MAX_REFERENCE_CHARACTERS)),
    po_number: Type.Optional(orNull(`${PO_NUMBER}; ${NONE}`, MAX_REFERENCE_CHARACTERS)),
    emails: Type.Optional(emails),
    language: Type.Optional(language),
    time_zone: Type.Optional(timeZone),
    number_prefix: Type.Optional(textOf(16, PREFIX)),
    terms: Type.Optional(terms),
    grace_hours: Type.Optional(graceHours),
    ...expectedRevision,
  },
  {
    additionalProperties: false,
    description:
      'The whole profile; of `time_zone`, `number_prefix`, `terms` and `grace_hours`, those that are absent are unchanged.',
    examples: [
      {
        legal_name: 'Acme Film GmbH',
        address: ['Torstr. 1', '10119 Berlin'],
        country: 'DE',
        emails: ['billing@acme.example'],
        language: 'en',
        time_zone: 'Europe/Berlin',
        number_prefix: 'ACME',
      },
    ],
  },
)

/** Routes of the billing profile of a tenant. */
export const billingRoutes = settingRoutes({
  setting: managedBilling,
  path: 'billing',
  operation: 'Billing',
  roles: { get: ['finance'], put: ['finance'] },
  get: { summary: 'Get the billing profile of a tenant' },
  put: {
    summary: 'Set the billing profile of a tenant',
    body: BillingBody,
    failures: [],
  },
  members: {
    legal_name: orNull('null: never set.'),
    address,
    country: orNull('null: never set.'),
    tax_id: orNull(`${TAX_ID}.`),
    po_number: orNull(`${PO_NUMBER}.`),
    emails,
    language,
    time_zone: timeZone,
    number_prefix: orNull('Begins the numbers of statements; null: never set.'),
    terms,
    grace_hours: graceHours,
  },
  read: (body) => ({
    legalName: body.legal_name,
    address: body.address,
    country: body.country,
    taxId: body.tax_id ?? undefined,
    poNumber: body.po_number ?? undefined,
    emails: body.emails ?? [],
    language: body.language ?? 'en',
    timeZone: body.time_zone,
    numberPrefix: body.number_prefix,
    terms: body.terms,
    graceHours: body.grace_hours,
  }),
  toBody: (billing) => ({
    legal_name: setOrNull(billing.legalName),
    address: billing.address,
    country: setOrNull(billing.country),
    tax_id: billing.taxId ?? null,
    po_number: billing.poNumber ?? null,
    emails: billing.emails,
    language: billing.language,
    time_zone: billing.timeZone,
    number_prefix: setOrNull(billing.numberPrefix),
    terms: billing.terms,
    grace_hours: billing.graceHours,
  }),
})

/** A text that a profile always has is empty only before it was ever set. */
const setOrNull = (text: string): string | null => (text === '' ? null : text)
