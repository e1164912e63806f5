import { refuse } from '../../../domain/families/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { offeredToolNames, toolCharges } from '../rules/tools.ts'
import type { TextWireRules } from '../rules/wire.ts'
import { given } from '../../../api/kit/member-checks.ts'

/** What text calls must not refer to or offer, whatever the interface. */

/**
 * Refuses a content part that names a file kept upstream, flat or one level down: files are kept in
 * an account all tenants share and there is no way here to upload one, so none is the caller's (P8).
 * @throws DomainError `invalid_request`
 */
export function refuseFileId(part: JsonObject, at: string): void {
  const refuseIn = (holder: JsonObject, path: string): void => {
    if (given(holder, 'file_id') === undefined) return
    refuse(
      `${path}.file_id`,
      `\`${path}.file_id\` is not offered: no files are kept here; send the file itself or its URL`,
    )
  }
  refuseIn(part, at)
  for (const [name, member] of Object.entries(part))
    if (isJsonObject(member)) refuseIn(member, `${at}.${name}`)
}

/** Refuses a tool that costs more than tokens and is not metered. @throws DomainError `invalid_request` */
export function refuseUnmetered(wire: TextWireRules, tool: JsonObject, at: string): void {
  const found = toolCharges(wire, tool).find(({ charge }) => charge === 'unmetered')
  if (found === undefined) return
  const path = `${at}.${found.member}`
  refuse(
    path,
    `\`${path}\` is not offered: there is no price for what this tool may cost; offered are ${offeredToolNames(wire).join(', ')}`,
  )
}
