import { Type } from 'typebox'
import { type ProposalRow, proposalStates } from '../../../projections/proposals/query.ts'
import type { AdminScope } from '../../app/accounts/admin-scope.ts'
import {
  creditKinds,
  type Person,
  postingIdOf,
  reasonCodes,
} from '../../domain/account/postings.ts'
import {
  isSettingChange,
  limitChanges,
  ownPriceChanges,
  type SettingChange,
} from '../../domain/account/setting-changes.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { PersonSchema, successOf } from '../kit/routes/account-surface.ts'
import { PerUnits, toPerUnits } from './prices/schemas.ts'
import { Currency } from './schemas.ts'

/** Answers that show a proposal: a posting, or both sides of a change of a setting. */

const postedObjects = {
  grant: 'credit_grant',
  adjustment: 'adjustment',
  limit: 'credit_limit',
  prices: 'account_prices',
  approvals: 'approvals',
} as const

const orNull = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const Time = Type.String({ format: 'date-time', description: 'RFC 3339.' })
const PersonOrNull = Type.Union([PersonSchema, Type.Null()], {
  description: 'Shown to operators only; null: a shell.',
})

const sides = <T extends Parameters<typeof Type.Optional>[0]>(side: T, description: string) => ({
  before: orNull(side),
  after: Type.Union([side, Type.Null()], { description }),
})
const ChangeSchema = Type.Object(
  {
    revision: Type.Integer({ description: 'The revision of the setting that would be replaced.' }),
    multiplier: orNull(Type.Object(sides(Type.String(), 'null: no factor.'))),
    prices: orNull(
      Type.Array(
        Type.Object({
          sku: Type.String(),
          currency: Currency,
          ...sides(PerUnits, 'null: the price of the list times the multiplier.'),
        }),
        { description: 'Own prices that are set, changed or removed.' },
      ),
    ),
    limits: orNull(
      Type.Array(
        Type.Object({ currency: Currency, ...sides(Type.String(), 'null: without a limit.') }),
      ),
    ),
    lapse_hours: orNull(Type.Object({ before: Type.Integer(), after: Type.Integer() })),
  },
  { named: 'ProposedChange', description: 'Both sides of the change of a setting.' },
)

const proposal = {
  object: Type.Literal('proposal'),
  id: Type.String(),
  tenant_id: Type.String(),
  state: Type.Enum([...proposalStates]),
  posting: Type.Object(
    {
      object: Type.Enum(Object.values(postedObjects)),
      id: Type.String({
        description:
          '`grant_id`, `adjustment_id` or `limit_id`; of a setting the revision that it would get.',
      }),
      currency: orNull(Currency),
      amount: orNull(
        Type.String({
          description: 'A decimal; how far a credit limit rises; null for a setting.',
        }),
      ),
      limit: orNull(Type.String({ description: 'The credit limit that it sets.' })),
      limit_before: orNull(Type.String({ description: 'The credit limit when it was proposed.' })),
      line_id: orNull(Type.String({ description: 'The line that it corrects.' })),
      grant_id: orNull(Type.String({ description: 'The grant that it corrects.' })),
      credit: orNull(Type.Enum([...creditKinds])),
      reference: orNull(Type.String()),
      code: orNull(Type.Enum([...reasonCodes])),
      reason: orNull(Type.String()),
      change: orNull(ChangeSchema),
    },
    { named: 'ProposedPosting' },
  ),
  proposed_by: Type.Optional(PersonOrNull),
  proposed_at: Time,
  expires_at: Type.String({
    format: 'date-time',
    description: 'No approval is possible from this time on.',
  }),
  ended_by: Type.Optional(PersonOrNull),
  ended_at: orNull(Time),
  reason: orNull(Type.String({ description: 'Why it was rejected.' })),
}
export const ProposalSchema = Type.Object(proposal, { named: 'Proposal' })
export const ChangedProposalSchema = Type.Object(
  { ...proposal, changed: Type.Boolean({ description: 'false: it was so before.' }) },
  { named: 'ChangedProposal' },
)
/** The answer to a posting that waits for a second user. */
export const ProposedAnswerSchema = {
  ...successOf(ChangedProposalSchema),
  description:
    'More than one person may give alone, or by a token of support: it is proposed, and changes nothing yet.',
}

/** A proposal as these routes show it; persons are shown to operators only, as in histories. */
export function toProposal(row: ProposalRow, scope: AdminScope) {
  const { posting } = row
  const change = isSettingChange(posting) ? posting : undefined
  const { currency = null, amount = null } = isSettingChange(posting) ? {} : posting
  const grant = posting.kind === 'grant' ? posting : undefined
  const adjustment = posting.kind === 'adjustment' ? posting : undefined
  const limit = posting.kind === 'limit' ? posting : undefined
  const corrects = adjustment?.corrects
  const persons = { proposed_by: toPerson(row.by), ended_by: toPerson(row.endedBy) }
  return {
    object: 'proposal' as const,
    id: row.proposalId,
    tenant_id: row.tenantId,
    state: row.state,
    posting: {
      object: postedObjects[posting.kind],
      id: isSettingChange(posting) ? String(posting.basis + 1) : postingIdOf(posting),
      currency,
      amount,
      limit: limit?.limit ?? null,
      limit_before: limit?.before ?? null,
      line_id: corrects?.kind === 'line' ? corrects.lineId : null,
      grant_id: corrects?.kind === 'grant' ? corrects.grantId : null,
      credit: grant ? (grant.credit ?? ('paid' as const)) : null,
      reference: grant?.reference ?? null,
      code: adjustment?.code ?? null,
      reason: posting.reason ?? null,
      change: change === undefined ? null : toChange(change),
    },
    ...(scope.kind === 'all' ? persons : ({} as Partial<typeof persons>)),
    proposed_at: toTimestamp(row.proposedAtMs),
    expires_at: toTimestamp(row.expiresAtMs),
    ended_at: row.endedAtMs === null ? null : toTimestamp(row.endedAtMs),
    reason: row.reason,
  }
}

/** Columns of proposals as a table; persons have a column for operators only. */
export const proposalColumns = [
  'id',
  'tenant_id',
  'state',
  'kind',
  'posting_id',
  'currency',
  'amount',
  'limit',
  'limit_before',
  'line_id',
  'grant_id',
  'credit',
  'reference',
  'code',
  'posting_reason',
  'proposed_at',
  'proposed_by',
  'expires_at',
  'ended_at',
  'ended_by',
  'reason',
] as const

/** A proposal as a row of a table. */
export function toProposalRow(row: ProposalRow, scope: AdminScope) {
  const { posting, proposed_by, ended_by, ...shown } = toProposal(row, scope)
  const { object: kind, id, reason, change: _change, ...terms } = posting
  return {
    ...shown,
    ...terms,
    kind,
    posting_id: id,
    posting_reason: reason,
    proposed_by: proposed_by?.user_id ?? null,
    ended_by: ended_by?.user_id ?? null,
  }
}

/** A person as answers show it; null: a shell. */
export const toPerson = (by: Person | null) =>
  by && { tenant_id: by.tenantId, user_id: by.userId, token_id: by.tokenId }

/** Both sides of a change of a setting; members of the other setting are null. */
function toChange(change: SettingChange) {
  const { basis: revision } = change
  if (change.kind === 'approvals') {
    const lapse_hours = { before: change.before.lapseHours, after: change.after.lapseHours }
    const limits = limitChanges(change).map(({ currency, before = null, after = null }) => ({
      currency,
      before,
      after,
    }))
    return { revision, multiplier: null, prices: null, limits, lapse_hours }
  }
  const { multiplier: before = null } = change.before
  const { multiplier: after = null } = change.after
  const prices = ownPriceChanges(change).map(({ sku, currency, ...sides }) => ({
    sku,
    currency,
    before: toPerUnits(sides.before),
    after: toPerUnits(sides.after),
  }))
  return { revision, multiplier: { before, after }, prices, limits: null, lapse_hours: null }
}
