import type { JsonObject } from '../../../src/kernel/json.ts'
import { tasksPath } from './app.ts'
import { groupId } from './memory-assets.ts'

/** Bodies of every creation, which are taken. */

const PICTURE = 'https://media.example.com/boat.png'
const PIXEL = 'data:image/png;base64,iVBORw0KGgo='
const prompt = 'a paper boat'

const ofText = {
  temperature: 1,
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'boat', schema: { type: 'object' }, strict: true },
  },
}
const ofClips = {
  duration: 5,
  resolution: '720p',
  movement_amplitude: 'auto',
  bgm: true,
  seed: 1,
  off_peak: false,
  watermark: true,
  wm_position: '1',
  wm_url: PICTURE,
  payload: 'x',
  meta_data: '{}',
  callback_url: 'https://hooks.example.com/done',
}
const ofSpeech = {
  model: 'speech-2.8-hd',
  text: 'Good morning.',
  voice_setting: { voice_id: 'nova', speed: 1, vol: 1, pitch: 0, emotion: 'happy' },
  audio_setting: { sample_rate: 32_000, bitrate: 128_000, format: 'mp3', channel: 1 },
  voice_modify: { pitch: 0, intensity: 0, timbre: 0, sound_effects: 'robotic' },
  pronunciation_dict: { tone: ['a/b'] },
  language_boost: 'auto',
  aigc_watermark: false,
}

export interface Creation {
  readonly path: string
  /** Taken as they are; together they have every member. */
  readonly bodies: readonly JsonObject[]
}

const clip = (mode: string, bodies: readonly JsonObject[]): Creation => ({
  path: `/provC/ent/v2/${mode}`,
  bodies,
})
const action = (name: string, body: JsonObject): Creation => ({
  path: `/provA?Action=${name}&Version=2024-01-01`,
  bodies: [body],
})

export const creations: Readonly<Record<string, Creation>> = {
  chat: {
    path: '/v1/chat/completions',
    bodies: [
      {
        model: 'text-basic',
        messages: [
          { role: 'system', content: 'Be short.' },
          { role: 'user', content: [{ type: 'text', text: 'Hello' }], name: 'ann' },
          { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function' }] },
        ],
        ...ofText,
        n: 1,
        max_tokens: 5,
        stream: false,
        tools: [{ type: 'function', function: { name: 'sail', parameters: { type: 'object' } } }],
        functions: [{ name: 'sail' }],
        tool_choice: 'auto',
        function_call: 'auto',
        web_search_options: {},
      },
      {
        model: 'text-basic',
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
        stream_options: { include_usage: true },
        response_format: { type: 'json_object' },
      },
    ],
  },
  responses: {
    path: '/v1/responses',
    bodies: [
      {
        model: 'text-basic',
        input: [
          { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
          { type: 'message', role: 'assistant', content: 'Hi' },
        ],
        ...ofText,
        instructions: 'Be short.',
        max_output_tokens: 5,
        stream: true,
        store: true,
        background: false,
        tools: [{ type: 'function', name: 'sail', parameters: { type: 'object' } }],
        text: { format: { type: 'text' } },
        reasoning: { effort: 'low' },
        include: [],
      },
      { model: 'text-basic', input: 'Hello', previous_response_id: 'resp_x', tool_choice: 'auto' },
    ],
  },
  native: {
    path: '/v1beta/models/text-basic:generateContent',
    bodies: [
      {
        contents: [
          {
            role: 'user',
            parts: [{ text: 'Hello' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }],
          },
        ],
        generationConfig: {
          temperature: 1,
          topP: 0.5,
          maxOutputTokens: 5,
          stopSequences: ['x'],
          thinkingConfig: { thinkingBudget: 5 },
        },
        systemInstruction: { parts: [{ text: 'Be short.' }] },
        tools: [{ functionDeclarations: [{ name: 'sail' }] }],
        toolConfig: {},
        safetySettings: [],
      },
      {
        contents: [{ parts: [{ text: 'Hello' }] }],
        temperature: 1,
        max_tokens: 5,
        top_p: 0.5,
        stop: ['x'],
        tools: [{ google_search: {} }],
      },
    ],
  },
  'images-image': {
    path: '/v1/images/generations',
    bodies: [
      {
        model: 'image-2',
        prompt,
        n: 1,
        size: '1024x1024',
        quality: 'high',
        background: 'opaque',
        output_format: 'jpeg',
        output_compression: 100,
        response_format: 'b64_json',
        moderation: 'low',
        user: 'ann',
      },
      { model: 'image-2', prompt, output_format: 'webp' },
    ],
  },
  'images-gen': {
    path: '/v1/images/generations',
    bodies: [
      { model: 'gen-3.1-flash-image', prompt, size: '1K', aspect_ratio: '1:1', n: 1, user: 'ann' },
      { model: 'gen-2.5-flash-image', prompt, aspect_ratio: '16:9', response_format: 'b64_json' },
    ],
  },
  'images-art-b': {
    path: '/v1/images/generations',
    bodies: [
      {
        model: 'artB-5.0',
        prompt,
        n: 1,
        size: '2K',
        image: [PICTURE],
        response_format: 'url',
        watermark: false,
        output_format: 'png',
        sequential_image_generation: 'auto',
        sequential_image_generation_options: { max_images: 2 },
        optimize_prompt_options: { mode: 'standard' },
        tools: [{ type: 'web_search' }],
        stream: false,
      },
    ],
  },
  'edits-image': {
    path: '/v1/images/edits',
    bodies: [
      {
        model: 'image-2',
        prompt,
        images: [{ image_url: PICTURE }, { file_id: 'file_x' }],
        mask: { image_url: PIXEL },
        n: 1,
        size: '1024x1024',
        quality: 'high',
        input_fidelity: 'high',
        response_format: 'b64_json',
      },
    ],
  },
  'edits-gen': {
    path: '/v1/images/edits',
    bodies: [
      {
        model: 'gen-3.1-flash-image',
        prompt,
        images: [{ image_url: PIXEL }],
        size: '1K',
        aspect_ratio: '1:1',
      },
      { model: 'gen-3.1-flash-image', prompt, image_urls: [PICTURE] },
    ],
  },
  'images-async': {
    path: '/v1/images/generations/async',
    bodies: [
      { model: 'image-2', prompt, size: '1024x1024', quality: 'high', response_format: 'url' },
    ],
  },
  'videos-a': {
    path: '/v1/videos',
    bodies: [
      {
        model: 'overseas-video-2-5',
        prompt,
        seconds: '5',
        resolution: '720p',
        ratio: '16:9',
        generate_audio: true,
        input_reference: [{ url: PICTURE, type: 'image' }, { image_url: PICTURE }, PICTURE],
      },
      { model: 'overseas-video-2-0-mini', prompt, seconds: 5, size: '1280x720' },
    ],
  },
  'videos-b': {
    path: '/v1/videos',
    bodies: [{ model: 'h3-video', prompt, seconds: 6, resolution: '768P', ratio: '16:9' }],
  },
  'videos-c': {
    path: '/v1/videos',
    bodies: [{ model: 'clipq3-pro', prompt, seconds: 5, resolution: '720p', ratio: '16:9' }],
  },
  'provA-tasks': {
    path: tasksPath,
    bodies: [
      {
        model: 'overseas-video-2-0',
        content: [
          { type: 'text', text: prompt },
          { type: 'image_url', image_url: { url: PICTURE }, role: 'reference_image' },
          { type: 'video_url', video_url: { url: PICTURE }, role: 'reference_video' },
          { type: 'audio_url', audio_url: { url: PICTURE }, role: 'reference_audio' },
        ],
        duration: 5,
        ratio: '16:9',
        resolution: '720p',
        generate_audio: true,
        watermark: false,
        return_last_frame: true,
        execution_expires_after: 3_600,
        priority: 1,
        safety_identifier: 'ann',
        callback_url: 'https://hooks.example.com/done',
        seed: 1,
        camera_fixed: false,
      },
      {
        model: 'overseas-video-2-5',
        content: [
          { type: 'text', text: prompt },
          { type: 'image_url', image_url: { url: PICTURE }, role: 'first_frame' },
        ],
        duration: 5,
        ratio: 'adaptive',
        CallbackURL: 'https://hooks.example.com/done',
        service_tier: 'default',
        ProjectName: 'default',
        output_format: 'mp4',
      },
      {
        model: 'domestic-video-2-5',
        content: [{ type: 'text', text: prompt }],
        duration: 5,
        tools: [{ type: 'web_search' }],
      },
    ],
  },
  'provB-video': {
    path: '/provB/v2/video_generation',
    bodies: [
      {
        model: 'h3-video',
        content: [
          { type: 'text', text: prompt },
          { type: 'image_url', image_url: { url: PICTURE }, role: 'reference_image' },
          { type: 'video_url', video_url: { url: PICTURE }, role: 'reference_video' },
          { type: 'audio_url', audio_url: { url: PICTURE }, role: 'reference_audio' },
        ],
        duration: 6,
        resolution: '768P',
        ratio: '16:9',
        callback_url: 'https://hooks.example.com/done',
      },
      {
        model: 'h3-video-max',
        content: [{ type: 'text', text: prompt }],
        duration: 6,
        ratio: '16:9',
      },
    ],
  },
  text2video: clip('text2video', [
    { model: 'clipq3-pro', prompt, ...ofClips, audio: true, style: 'anime', aspect_ratio: '16:9' },
  ]),
  img2video: clip('img2video', [{ model: 'clipq3-pro', prompt, ...ofClips, images: [PICTURE] }]),
  'start-end2video': clip('start-end2video', [
    { model: 'clipq3-pro', ...ofClips, images: [PICTURE, PICTURE] },
  ]),
  reference2video: clip('reference2video', [
    { model: 'clipq2', prompt, ...ofClips, images: [PICTURE], aspect_ratio: '1:1' },
  ]),
  speech: {
    path: '/provB/v1/t2a_v2',
    bodies: [
      {
        ...ofSpeech,
        output_format: 'hex',
        stream: true,
        stream_options: { exclude_aggregated_audio: true },
      },
      {
        model: 'speech-2.8-hd',
        text: 'Good morning.',
        voice_id: 'nova',
        output_format: 'url',
        emotion: 'happy',
      },
    ],
  },
  audio: {
    path: '/v1/audio/speech',
    bodies: [
      {
        model: 'speech-2.8-hd',
        input: 'Good morning.',
        voice: 'nova',
        response_format: 'mp3',
        speed: 1.5,
        stream_format: 'audio',
      },
    ],
  },
  'speech-async': { path: '/provB/v1/t2a_async_v2', bodies: [ofSpeech] },
  'voice-clone': {
    path: '/provB/v1/voice_clone',
    bodies: [
      {
        file_id: '4503599627370496',
        voice_id: 'MyVoice_001',
        clone_prompt: { prompt_audio: 4_503_599_627_370_496, prompt_text: 'Good morning.' },
        text: 'Good morning.',
        model: 'speech-2.8-hd',
        language_boost: 'auto',
        need_noise_reduction: true,
        need_volume_normalization: false,
        aigc_watermark: false,
        text_validation: 'x',
        accuracy: 0.5,
      },
    ],
  },
  'asset-group': action('CreateAssetGroup', {
    model: 'overseas-video-2-5',
    Name: 'boats',
    Description: 'all of them',
    GroupType: 'AIGC',
    ProjectName: 'default',
  }),
  asset: action('CreateAsset', {
    model: 'overseas-video-2-5',
    GroupId: groupId,
    URL: PICTURE,
    Name: 'boat',
    AssetType: 'Image',
    ProjectName: 'default',
  }),
  session: action('CreateVisualValidateSession', {
    model: 'overseas-video-2-5',
    CallbackURL: 'https://hooks.example.com/done',
    ProjectName: 'default',
  }),
}
