import { Type } from 'typebox'
import { timeKeys, type UsageKey } from '../../../projections/ledger/query.ts'
import { RequestError } from '../kit/request-error.ts'
import { isTimeKey } from './periods.ts'

/** Keys that usage is grouped by, as parameters and answers name them. */

function invalid(param: string, message: string): RequestError {
  return new RequestError('parameter_invalid', message, param)
}

/** Keys of the lines, and their names in answers. */
export const keyNames = {
  tenant: 'tenant_id',
  user: 'user_id',
  token: 'token_id',
  model: 'model',
  sku: 'sku',
  surface: 'surface',
  end_user: 'end_user',
  hour: 'hour',
  day: 'day',
  month: 'month',
} as const satisfies Partial<Record<UsageKey, string>>

export const TAG = 'tag:'
const all = [...Object.keys(keyNames), `${TAG}<key>`].join(', ')
const groups = [...Object.keys(keyNames), `${TAG}[^,]{1,64}`].join('|')

/** The keys of a report, of which `usual` is the default. */
export const groupByMember = (usual: UsageKey) =>
  Type.Optional(
    Type.String({
      maxLength: 140,
      documented: {
        type: 'string',
        pattern: `^(?:${groups})(?:,(?:${groups}))?$`,
        description: `One or two of ${all}, with a comma between; ${usual} by default. Of hour, day and month only one.`,
        examples: ['day,model'],
      },
    }),
  )

function isKey(name: string): name is UsageKey {
  return Object.hasOwn(keyNames, name) || (name.startsWith(TAG) && name.length > TAG.length)
}

/** The member of an answer that has the value of a key. */
export const memberOfKey = (key: UsageKey): string =>
  Object.hasOwn(keyNames, key) ? keyNames[key as keyof typeof keyNames] : key

/** The keys of a report. @throws RequestError */
export function readGroups(text = 'day'): readonly UsageKey[] {
  const names = text.split(',')
  const keys = names.filter(isKey)
  if (keys.length !== names.length || keys.length > 2 || new Set(keys).size !== keys.length)
    throw invalid('group_by', `group_by must be one or two of ${all}, with a comma between`)
  if (keys.filter(isTimeKey).length > 1)
    throw invalid('group_by', `group_by takes only one of ${timeKeys.join(', ')}`)
  return keys
}
