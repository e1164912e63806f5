import type { Test } from 'tap'
import {
  acceptVideoARequest,
  type AcceptedVideoA,
} from '../../../../src/families/video-a/rules/request.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'

/** Bodies and expectations the tests of the request rules share. */

export type Body = Readonly<Record<string, unknown>>

export const prompt = { type: 'text', text: 'a paper boat crosses a puddle' }

export const image = (role?: string, url = 'https://media.example.test/in.png'): Body => ({
  type: 'image_url',
  ...(role === undefined ? {} : { role }),
  image_url: { url },
})
export const video = (url = 'https://media.example.test/in.mp4'): Body => ({
  type: 'video_url',
  role: 'reference_video',
  video_url: { url },
})
export const audio = (url = 'https://media.example.test/in.mp3'): Body => ({
  type: 'audio_url',
  role: 'reference_audio',
  audio_url: { url },
})

/** A body every model accepts, with changes. */
export const bodyFor = (model: string, changes: Body = {}): Body => ({
  model,
  content: [prompt],
  duration: 5,
  ...changes,
})

/** Reads a body by the rules; its body for upstream has no id of an asset replaced. */
export function acceptBody(
  body: Body,
): Omit<AcceptedVideoA, 'upstreamBody'> & { readonly upstreamBody: Body } {
  const { upstreamBody, ...rest } = acceptVideoARequest(body)
  const { callbackUrl } = rest
  return { ...rest, upstreamBody: upstreamBody({ callbackUrl, nativeIds: new Map() }) }
}

export const accept = (model: string, changes: Body = {}) => acceptBody(bodyFor(model, changes))

/** The body is refused with this code and `details.param`, in a message that names the field. */
export function refused(
  t: Test,
  body: Body,
  param: string,
  code: 'invalid_request' | 'invalid_duration' = 'invalid_request',
  note = '',
): void {
  const title = `${code} ${param} ${note || JSON.stringify(body).slice(0, 120)}`
  try {
    acceptVideoARequest(body)
  } catch (error) {
    if (!isDomainError(error)) throw error
    t.strictSame({ code: error.code, param: error.details['param'] }, { code, param }, title)
    return
  }
  t.fail(`accepted: ${title}`)
}
