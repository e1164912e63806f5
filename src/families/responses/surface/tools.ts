import { memberOrUndefined, optionalList } from '../../../api/kit/bodies/member-checks.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { refuseUnmetered } from '../../text/surface/bodies.ts'
import { responsesRules } from '../rules/wire.ts'

/** Refuses what an account keeps. @throws DomainError `invalid_request` */
function checkReferences(tool: JsonObject, at: string): void {
  const container = memberOrUndefined(tool, 'container')
  if (typeof container === 'string')
    refuse(`${at}.container`, `\`${at}.container\` must be {"type": "auto"}: none is stored`)
  if (!isJsonObject(container)) return
  const files = optionalList(container, 'file_ids', `${at}.container.file_ids`)
  if (files !== undefined && files.length > 0)
    refuse(
      `${at}.container.file_ids`,
      `\`${at}.container.file_ids\` is not offered: the gateway stores no files for this`,
    )
}

/** Callers group their own functions so: a tool that is charged by count would be in no quote there. */
const IN_NAMESPACE = ['function', 'custom']

/** Checks the tools of a namespace. @throws DomainError `invalid_request` */
function checkNamespace(tool: JsonObject, at: string): void {
  if (tool['type'] !== 'namespace') return
  for (const [index, one] of (optionalList(tool, 'tools', `${at}.tools`) ?? []).entries()) {
    const path = `${at}.tools[${index}].type`
    const type = isJsonObject(one) ? one['type'] : undefined
    if (!IN_NAMESPACE.some((name) => name === type))
      refuse(path, `\`${path}\` must be one of ${IN_NAMESPACE.join(', ')}`)
  }
}

/** Checks the price and the references of a tool. @throws DomainError `invalid_request` */
export function checkTool(tool: JsonObject, at: string): void {
  refuseUnmetered(responsesRules, tool, at)
  checkReferences(tool, at)
  checkNamespace(tool, at)
}
