import type { Test } from 'tap'
import { readArtBOrder } from '../../../../src/families/art-b/rules/request.ts'
import type { ImageOrder } from '../../../../src/domain/catalog/image-rules.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'

/** The first bytes of pictures: enough to be taken for them. */
export const png = dataUri('png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])
export const jpeg = dataUri('jpeg', [0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1])
export const webp = dataUri('webp', [...Buffer.from('RIFF\0\0\0\0WEBPVP8 ')])

export function dataUri(type: string, bytes: readonly number[]): string {
  return `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`
}

/** An order that every rule takes, with these members instead. */
export function order(
  fields: Readonly<Record<string, unknown>> = {},
  model = 'artB-5.0',
): ImageOrder {
  const given = Object.entries({ prompt: 'a boat', ...fields }).filter(([, v]) => v !== undefined)
  return {
    kind: 'generation',
    form: 'json',
    model,
    fields: Object.fromEntries(given),
    uploads: [],
  }
}

/** Reads an order that must be refused, naming the field; answers with what is said. */
export function refused(
  t: Test,
  asked: ImageOrder,
  param: string,
  code = 'invalid_request',
): string {
  try {
    readArtBOrder(asked)
  } catch (error) {
    if (!isDomainError(error)) throw error
    t.match(error, { code, details: { param } }, JSON.stringify(asked.fields).slice(0, 200))
    return error.message
  }
  t.fail(`not refused: ${JSON.stringify(asked.fields)}`)
  return ''
}
