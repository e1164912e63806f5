import { refuse } from '../../../domain/families/checks/fields.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { given, optionalList } from '../../../api/kit/member-checks.ts'
import { refuseFileId } from '../../../api/kit/tools-and-files.ts'

/**
 * What a responses request may say by id alone. Upstream keeps everything in an account that all
 * tenants share, so an id of it is only taken where it can be told to be the caller's (P8).
 */

/** Checks what a request continues from. @throws DomainError `invalid_request` */
export function checkContinuation(body: JsonObject): void {
  const previous = given(body, 'previous_response_id')
  if (previous !== undefined && typeof previous !== 'string')
    refuse('previous_response_id', '`previous_response_id` must be a string')
  if (given(body, 'conversation') !== undefined)
    refuse(
      'conversation',
      '`conversation` is not offered: continue with `previous_response_id`, or send the turns in `input`',
    )
  if (given(body, 'prompt') !== undefined)
    refuse('prompt', '`prompt` is not offered: write its text into `instructions` or `input`')
}

/** Whether an item of `input` only names one that is kept; whose it is is told later, by its id. */
export function isReference(item: JsonObject): boolean {
  const type = given(item, 'type')
  const isBare = type === undefined && given(item, 'role') === undefined
  return type === 'item_reference' || (isBare && given(item, 'id') !== undefined)
}

/** Refuses what an item of `input` refers to and cannot be a caller's. @throws DomainError `invalid_request` */
export function refuseReferences(item: JsonObject, at: string): void {
  const type = given(item, 'type')
  if (type === 'image_generation_call' && typeof given(item, 'result') !== 'string')
    refuse(`${at}.result`, `\`${at}.result\` is required: images are not kept here`)
  const output = given(item, 'output')
  if (isJsonObject(output)) refuseFileId(output, `${at}.output`)
  if (!Array.isArray(output)) return
  for (const [index, part] of (output as readonly unknown[]).entries())
    if (isJsonObject(part)) refuseFileId(part, `${at}.output[${index}]`)
}

/** Checks what a tool works on. @throws DomainError `invalid_request` */
export function checkToolReferences(tool: JsonObject, at: string): void {
  const stores = optionalList(tool, 'vector_store_ids', `${at}.vector_store_ids`)
  if (stores?.some((id) => typeof id !== 'string') === true)
    refuse(`${at}.vector_store_ids`, `\`${at}.vector_store_ids\` must be an array of strings`)
  const container = given(tool, 'container')
  if (typeof container === 'string')
    refuse(`${at}.container`, `\`${at}.container\` must be {"type": "auto"}: none are kept here`)
  if (!isJsonObject(container)) return
  const files = optionalList(container, 'file_ids', `${at}.container.file_ids`)
  if (files !== undefined && files.length > 0)
    refuse(
      `${at}.container.file_ids`,
      `\`${at}.container.file_ids\` is not offered: no files are kept here`,
    )
}
