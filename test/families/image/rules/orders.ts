import { deflateSync } from 'node:zlib'
import type { Test } from 'tap'
import type { ImageOrder } from '../../../../src/domain/catalog/image-rules.ts'
import { readImageOrder } from '../../../../src/families/image/rules/request.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'

/** The first bytes of a picture: enough to be taken for one. */
export const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])
export const jpeg = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, ...deflateSync(Buffer.alloc(8))])

/** An order that every rule takes, with these members instead. */
export function order(
  fields: Readonly<Record<string, unknown>> = {},
  rest: Partial<ImageOrder> = {},
): ImageOrder {
  const given = Object.entries({ prompt: 'a boat', ...fields }).filter(([, v]) => v !== undefined)
  return {
    kind: 'generation',
    form: 'json',
    model: 'image-2',
    fields: Object.fromEntries(given),
    uploads: [],
    ...rest,
  }
}

/** Reads an order that must be refused, naming the field; answers with what is said. */
export function refused(t: Test, asked: ImageOrder, param: string): string {
  try {
    readImageOrder(asked)
  } catch (error) {
    if (!isDomainError(error)) throw error
    t.equal(error.details['param'], param, JSON.stringify(asked.fields))
    return error.message
  }
  t.fail(`not refused: ${JSON.stringify(asked.fields)}`)
  return ''
}
