import { readFileSync } from 'node:fs'
import { programFile } from '../../../src/kernel/program-files.ts'

/** A still picture: H.264, 64 × 64, five seconds of 24 frames. */
const still = readFileSync(programFile('infra/sandbox/media/still.mp4'))
const SECONDS = 5
const MAX_SECONDS = 120

/** Where it says how long it lasts, whole or by frame: boxes, and bytes from their names on. */
const LENGTHS = [
  ['mvhd', 20],
  ['tkhd', 24],
  ['mdhd', 20],
  ['stts', 16],
] as const

const made = new Map<number, Buffer>()

/** A playable MP4 of so many whole seconds, 1 to 120: the same frames, shown as long as that takes. */
export function mp4OfSeconds(seconds: number): Buffer {
  const whole = Math.min(MAX_SECONDS, Math.max(1, Math.round(seconds)))
  const known = made.get(whole)
  if (known !== undefined) return known
  const bytes = Buffer.from(still)
  for (const [box, offset] of LENGTHS) {
    const at = bytes.indexOf(box) + offset
    bytes.writeUInt32BE((bytes.readUInt32BE(at) / SECONDS) * whole, at)
  }
  made.set(whole, bytes)
  return bytes
}
