import { Type } from 'typebox'
import { managedBilling } from '../../app/accounts/settings.ts'
import {
  billingLanguages,
  billingTerms,
  MAX_EMAIL_CHARACTERS,
  MAX_EMAILS,
  MAX_GRACE_HOURS,
} from '../../domain/account/billing.ts'
import { MAX_REFERENCE_CHARACTERS } from '../../domain/account/party.ts'
import { orNull, partyBody, partyMembers, readParty, toParty } from './party.ts'
import { changeMembers, settingRoutes } from './settings.ts'

const textOf = (maxLength: number, description: string) => Type.String({ maxLength, description })

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
const PO_NUMBER = "The tenant's purchase order"

const BillingBody = Type.Object(
  {
    ...partyBody('The name that statements are for.'),
    po_number: Type.Optional(
      orNull(`${PO_NUMBER}; absent or null: none.`, MAX_REFERENCE_CHARACTERS),
    ),
    emails: Type.Optional(emails),
    language: Type.Optional(language),
    time_zone: Type.Optional(timeZone),
    number_prefix: Type.Optional(textOf(16, PREFIX)),
    terms: Type.Optional(terms),
    grace_hours: Type.Optional(graceHours),
    ...changeMembers,
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
    ...partyMembers,
    po_number: orNull(`${PO_NUMBER}.`),
    emails,
    language,
    time_zone: timeZone,
    number_prefix: orNull('Begins the numbers of statements; null: never set.'),
    terms,
    grace_hours: graceHours,
  },
  read: (body) => ({
    ...readParty(body),
    poNumber: body.po_number ?? undefined,
    emails: body.emails ?? [],
    language: body.language ?? 'en',
    timeZone: body.time_zone,
    numberPrefix: body.number_prefix,
    terms: body.terms,
    graceHours: body.grace_hours,
  }),
  toBody: (billing) => ({
    ...toParty(billing),
    po_number: billing.poNumber ?? null,
    emails: billing.emails,
    language: billing.language,
    time_zone: billing.timeZone,
    number_prefix: billing.numberPrefix === '' ? null : billing.numberPrefix,
    terms: billing.terms,
    grace_hours: billing.graceHours,
  }),
})
