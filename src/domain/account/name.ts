import { Type } from '@sinclair/typebox'
import { isPrintable } from '../../kernel/characters.ts'
import { accountSetting, invalidSetting } from './setting.ts'

/** A tenant that is renamed; the account keeps the name it was opened with at revision 0. */

const MAX_NAME_CHARACTERS = 128

const refuse: (param: string, message: string) => never = invalidSetting('name')

/** A name as it is recorded: one line that shows each of its characters. @throws DomainError `setting_invalid` */
export function checkedName(name: string): string {
  const text = name.trim()
  if (!isPrintable(text, MAX_NAME_CHARACTERS))
    refuse(
      'name',
      `must be one line of 1 to ${MAX_NAME_CHARACTERS} characters, none of them hidden`,
    )
  return text
}

export const tenantName = accountSetting({
  code: 'name',
  title: 'name settings',
  type: 'TenantNamed',
  terms: { name: Type.String() },
  none: { name: '' },
  canonical: ({ name }: { readonly name: string }) => ({ name: checkedName(name) }),
  fingerprint: ({ name }) => name,
  words: ({ revision, name }) => `${name} (${revision})`,
})
