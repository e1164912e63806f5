import { Type } from '@sinclair/typebox'
import { accountSetting, invalidSetting, repeated, type SettingValue } from './setting.ts'

/** A tenant declares which labels of its requests are recorded; see `src/domain/reporting-labels.ts`. */
export type Reporting = SettingValue<typeof reporting>

/** The tenant declares all of this at once. */
export interface WantedReporting {
  readonly tagKeys: readonly string[]
  readonly endUser: boolean
}

/** Keys that a tenant may declare: each makes lines longer. */
const MAX_TAG_KEYS = 8
/** A key as headers and queries write it, without escapes. */
const tagKey = /^[a-z][a-z0-9_.-]{0,63}$/

const refuse: (param: string, message: string) => never = invalidSetting('reporting')

export const reporting = accountSetting({
  code: 'reporting',
  title: 'reporting settings',
  type: 'ReportingSet',
  takesReason: true,
  terms: {
    /** Keys of tags that are recorded from now on, in order. */
    tagKeys: Type.Array(Type.String()),
    /** Whether the tenant's own ids of its end users are recorded. */
    endUser: Type.Boolean(),
  },
  none: { tagKeys: [], endUser: false },
  canonical: ({ tagKeys, endUser }: WantedReporting) => {
    if (tagKeys.length > MAX_TAG_KEYS) refuse('tag_keys', `at most ${MAX_TAG_KEYS} keys`)
    for (const [index, key] of tagKeys.entries())
      if (!tagKey.test(key))
        refuse(
          `tag_keys[${index}]`,
          'a key begins with a lower-case letter and has at most 64 lower-case letters, digits, "_", "." and "-"',
        )
    const twice = repeated(tagKeys)
    if (twice !== undefined) refuse('tag_keys', `${twice} is given twice`)
    return { tagKeys: tagKeys.toSorted(), endUser }
  },
  fingerprint: ({ tagKeys, endUser }) => JSON.stringify([tagKeys, endUser]),
  words: ({ revision, tagKeys, endUser }) => {
    const recorded = [...tagKeys, ...(endUser ? ['end user'] : [])]
    return `${recorded.length === 0 ? 'records nothing' : recorded.join(', ')} (${revision})`
  },
})
