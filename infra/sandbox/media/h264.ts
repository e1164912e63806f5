import { BitWriter } from './bits.ts'

/** A still picture as an H.264 stream: one raw key frame, then frames that repeat it. */
export interface H264Stream {
  readonly sps: Buffer
  readonly pps: Buffer
  /** One access unit a frame, each a NAL unit without start code. */
  readonly frames: readonly Buffer[]
  readonly widthPixels: number
  readonly heightPixels: number
}

const MACROBLOCKS = 4

/** No three bytes inside a NAL unit may look like a start code. */
function nal(header: number, payload: Buffer): Buffer {
  const out: number[] = [header]
  let zeros = 0
  for (const byte of payload) {
    if (zeros >= 2 && byte <= 3) {
      out.push(3)
      zeros = 0
    }
    out.push(byte)
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.from(out)
}

function sequenceParameters(): Buffer {
  const bits = new BitWriter().bits(66, 8).bits(0xc0, 8).bits(10, 8)
  bits.ue(0).ue(0).ue(2).ue(1).bits(0, 1)
  bits.ue(MACROBLOCKS - 1).ue(MACROBLOCKS - 1)
  bits.bits(1, 1).bits(1, 1).bits(0, 1).bits(0, 1)
  return nal(0x67, bits.finish())
}

function pictureParameters(): Buffer {
  const bits = new BitWriter().ue(0).ue(0).bits(0, 1).bits(0, 1).ue(0).ue(0).ue(0)
  bits.bits(0, 1).bits(0, 2).ue(0).ue(0).ue(0).bits(1, 1).bits(0, 1).bits(0, 1)
  return nal(0x68, bits.finish())
}

/** Every macroblock as raw samples (I_PCM): a colour gradient. */
function keyFrame(): Buffer {
  const bits = new BitWriter().ue(0).ue(7).ue(0).bits(0, 4).ue(0).bits(0, 1).bits(0, 1)
  bits.ue(0).ue(1)
  for (let block = 0; block < MACROBLOCKS * MACROBLOCKS; block += 1) {
    const left = (block % MACROBLOCKS) * 16
    const top = Math.floor(block / MACROBLOCKS) * 16
    const luma = Array.from({ length: 256 }, (_, i) => 40 + left + (i % 16) + top + (i >> 4))
    const blue = Array.from({ length: 64 }, (_, i) => 90 + left + 2 * (i % 8))
    const red = Array.from({ length: 64 }, (_, i) => 90 + top + 2 * (i >> 3))
    bits.ue(25).align().raw(luma).raw(blue).raw(red)
  }
  return nal(0x65, bits.finish())
}

/** All macroblocks skipped: the picture before, again. */
function repeatFrame(number: number): Buffer {
  const bits = new BitWriter()
    .ue(0)
    .ue(5)
    .ue(0)
    .bits(number % 16, 4)
    .bits(0, 1)
    .bits(0, 1)
  bits
    .bits(0, 1)
    .ue(0)
    .ue(1)
    .ue(MACROBLOCKS * MACROBLOCKS)
  return nal(0x41, bits.finish())
}

/** A 64 × 64 stream of so many frames. */
export function encodeStill(frameCount: number): H264Stream {
  const frames = [keyFrame()]
  for (let i = 1; i < frameCount; i += 1) frames.push(repeatFrame(i))
  return {
    sps: sequenceParameters(),
    pps: pictureParameters(),
    frames,
    widthPixels: MACROBLOCKS * 16,
    heightPixels: MACROBLOCKS * 16,
  }
}
