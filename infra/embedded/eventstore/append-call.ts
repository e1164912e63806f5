/**
 * `Streams.Append`: one append, streamed in as options followed by events.
 */

import type { sendUnaryData, ServerReadableStream } from '@grpc/grpc-js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { invalidArgument, streamDeleted, toWireError } from './errors.ts'
import type { ServerLog } from './log.ts'
import { checkStreamName, Proposal, proposedIn } from './proposals.ts'
import type { AppendHooks, CommandOutcome, ExpectedRevision } from './types.ts'
import { readExpected, readStreamName } from './wire.ts'

type Call = ServerReadableStream<streams.AppendReq, streams.AppendResp>
type Reply = sendUnaryData<streams.AppendResp>

interface Target {
  readonly stream: string
  readonly expected: ExpectedRevision
}

/** Serves one append. Answers exactly once. */
export function handleAppend(log: ServerLog, hooks: AppendHooks, call: Call, reply: Reply): void {
  const proposal = new Proposal()
  let target: Target | undefined
  let answered = false
  const answer = (error: unknown, response?: streams.AppendResp): void => {
    if (answered) return
    answered = true
    if (response === undefined) reply(toWireError(error))
    else reply(null, response)
  }
  call.on('data', (request: streams.AppendReq) => {
    if (answered) return
    try {
      if (target === undefined) target = readTarget(request)
      else proposal.add(proposedIn(readMessage(request)))
    } catch (error) {
      answer(error)
    }
  })
  call.on('error', (error) => answer(error))
  call.on('end', () => {
    if (answered) return
    if (target === undefined) return answer(invalidArgument('the append has no options'))
    submit(log, hooks, call, target, proposal).then(
      (response) => {
        if (response !== undefined) answer(undefined, response)
      },
      (error: unknown) => answer(error),
    )
  })
}

async function submit(
  log: ServerLog,
  hooks: AppendHooks,
  call: Call,
  target: Target,
  proposal: Proposal,
): Promise<streams.AppendResp | undefined> {
  await hooks.beforeAppend?.()
  const outcome = await log.submit({
    kind: 'append',
    ...target,
    events: proposal.events,
    sizeBytes: proposal.sizeBytes,
    isAbandoned: () => call.cancelled,
  })
  if (hooks.loseAcknowledgement?.() === true) return undefined
  return toResponse(target, outcome)
}

function readTarget(request: streams.AppendReq): Target {
  const options = request.getOptions()
  if (options === undefined) throw invalidArgument('an append starts with its options')
  const expected = readExpected(options)
  if (expected === undefined) throw invalidArgument('the append names no expected revision')
  return { stream: checkStreamName(readStreamName(options.getStreamIdentifier())), expected }
}

function readMessage(request: streams.AppendReq): streams.AppendReq.ProposedMessage {
  const message = request.getProposedMessage()
  if (message === undefined) throw invalidArgument('after its options an append has only events')
  return message
}

function toResponse(target: Target, outcome: CommandOutcome): streams.AppendResp {
  const response = new streams.AppendResp()
  switch (outcome.kind) {
    case 'stream_deleted':
      throw streamDeleted(target.stream)
    case 'wrong_expected_revision':
      return response.setWrongExpectedVersion(wrongVersion(target.expected, outcome.current))
    case 'done': {
      const success = new streams.AppendResp.Success()
      if (outcome.revision < 0) success.setNoStream(new shared.Empty())
      else success.setCurrentRevision(String(outcome.revision))
      if (outcome.position === undefined) success.setNoPosition(new shared.Empty())
      else {
        const position = new streams.AppendResp.Position()
        position.setCommitPosition(String(outcome.position))
        position.setPreparePosition(String(outcome.position))
        success.setPosition(position)
      }
      return response.setSuccess(success)
    }
  }
}

function wrongVersion(
  expected: ExpectedRevision,
  current: number,
): streams.AppendResp.WrongExpectedVersion {
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  if (current < 0) wrong.setCurrentNoStream(new shared.Empty())
  else wrong.setCurrentRevision(String(current))
  switch (expected.kind) {
    case 'any':
      return wrong.setExpectedAny(new shared.Empty())
    case 'no_stream':
      return wrong.setExpectedNoStream(new shared.Empty())
    case 'stream_exists':
      return wrong.setExpectedStreamExists(new shared.Empty())
    case 'revision':
      return wrong.setExpectedRevision(expected.text)
  }
}
