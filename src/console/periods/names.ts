import { Type } from 'typebox'
import { KnownId, MonthMember } from '../../api/kit/routes/account-surface.ts'
import { requireWholeTenant, visibleTo } from '../../api/query/scope.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { MonthOf } from '../../app/finance/statements/types.ts'
import { DomainError } from '../../kernel/errors.ts'
import { currencies } from '../../kernel/money.ts'
import { fieldReader } from '../form-routes.ts'
import { periodIn } from '../kit/href.ts'

/** Months of accounts as addresses name them. */

const readName = fieldReader(
  Type.Object({ tenant_id: KnownId, currency: Type.Enum([...currencies]), month: MonthMember }),
)

export function noSuchMonth({ currency, month }: MonthOf): DomainError {
  return new DomainError('period_not_found', `The account has no month ${month} in ${currency}`, {
    month,
  })
}

/**
 * The month that an address names, within what the reader sees: one of another tenant reads like one that is
 * missing. @throws RequestError, DomainError `scope_denied`, `period_not_found`
 */
export function monthNamed(who: Principal, id: string): MonthOf {
  const { tenantId, currency: named, month: asked } = periodIn(id)
  const { tenant_id, currency, month } = readName({
    tenant_id: tenantId,
    currency: named,
    month: asked,
  })
  requireWholeTenant(who, 'statements')
  const of = { tenantId: tenant_id, currency, month }
  const visible = visibleTo(who).tenantId
  if (visible !== undefined && visible !== tenant_id) throw noSuchMonth(of)
  return of
}

const names =
  'January February March April May June July August September October November December'
const monthNames = names.split(' ')

/** `November 2026` for `2026-11`. */
export function monthInWords(month: string): string {
  const [year = '', number = ''] = month.split('-')
  return `${monthNames[Number(number) - 1]} ${year}`
}
