import { bytesOf, type Fields, fieldsOf, isFields, objectsOf } from '../kit/http/fields.ts'

/** UTF-8 bytes of what a message, or a delta of one, says: text, reasoning, calls. */
export function chatOutputBytes(message: unknown): number {
  if (!isFields(message)) return 0
  let bytes =
    bytesOf(message['content']) +
    bytesOf(message['reasoning_content']) +
    bytesOf(message['reasoning']) +
    bytesOf(message['refusal'])
  if (isFields(message['function_call'])) bytes += callBytes(message['function_call'])
  for (const call of objectsOf(message['tool_calls']))
    bytes += callBytes(fieldsOf(call['function']))
  return bytes
}

function callBytes(called: Fields): number {
  return bytesOf(called['name']) + bytesOf(called['arguments'])
}
