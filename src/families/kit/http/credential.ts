import type { Channel } from '../../../app/ports.ts'

/** `authorization: Bearer …`, or the header the channel names. */
export function bearerHeaders(channel: Channel): Readonly<Record<string, string>> {
  const header = channel.credentialHeader
  return header === undefined
    ? { authorization: `Bearer ${channel.credential}` }
    : { [header]: channel.credential }
}

/** The header that native generation takes its key in, or the one the channel names. */
export function keyHeaders(channel: Channel): Readonly<Record<string, string>> {
  return { [channel.credentialHeader ?? 'x-goog-api-key']: channel.credential }
}
