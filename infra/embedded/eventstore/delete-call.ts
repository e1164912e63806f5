/**
 * `Streams.Delete` (the stream may be written to again) and `Streams.Tombstone` (never again).
 */

import streams from '@eventstore/db-client/generated/streams_pb.js'
import { invalidArgument, streamDeleted, wrongExpectedVersion } from './errors.ts'
import type { ServerLog } from './log.ts'
import { checkStreamName } from './proposals.ts'
import type { ExpectedRevision } from './types.ts'
import { readExpected, readStreamName } from './wire.ts'

/** Deletes a stream. @throws {WireError} */
export async function deleteStream(
  log: ServerLog,
  request: streams.DeleteReq,
): Promise<streams.DeleteResp> {
  const position = await change(log, 'delete', request.getOptions())
  const response = new streams.DeleteResp.Position()
  response.setCommitPosition(position)
  response.setPreparePosition(position)
  return new streams.DeleteResp().setPosition(response)
}

/** Closes a stream for ever. @throws {WireError} */
export async function tombstoneStream(
  log: ServerLog,
  request: streams.TombstoneReq,
): Promise<streams.TombstoneResp> {
  const position = await change(log, 'tombstone', request.getOptions())
  const response = new streams.TombstoneResp.Position()
  response.setCommitPosition(position)
  response.setPreparePosition(position)
  return new streams.TombstoneResp().setPosition(response)
}

async function change(
  log: ServerLog,
  kind: 'delete' | 'tombstone',
  options: streams.DeleteReq.Options | streams.TombstoneReq.Options | undefined,
): Promise<string> {
  if (options === undefined) throw invalidArgument('the request has no options')
  const stream = checkStreamName(readStreamName(options.getStreamIdentifier()))
  const expected = readExpected(options)
  if (expected === undefined) throw invalidArgument('the request names no expected revision')
  const outcome = await log.submit({ kind, stream, expected, isAbandoned: () => false })
  switch (outcome.kind) {
    case 'done':
      return String(outcome.position ?? 0)
    case 'wrong_expected_revision':
      throw wrongExpectedVersion(stream, expectedNumber(expected), outcome.current)
    case 'stream_deleted':
      throw streamDeleted(stream)
  }
}

/** Revisions in trailers are the real server's numbers. */
function expectedNumber(expected: ExpectedRevision): number | string {
  switch (expected.kind) {
    case 'no_stream':
      return -1
    case 'any':
      return -2
    case 'stream_exists':
      return -4
    case 'revision':
      return expected.text
  }
}
