-- Decides on sliding windows, by the rule in src/domain/window.rs. Its arguments are described in script.rs. There are no
-- functions: defining them would take a tenth of the time.

local VERSION, FIRST, BUCKET = 1, 6, 10
local EXACT_COUNT_MAX, BUCKETS, LATE_ARRIVAL_MS_MAX = 256, 64, 100

local call, decode, encode, sub, floor = redis.call, struct.unpack, struct.pack, string.sub, math.floor
local verb, now, windows = ARGV[1], tonumber(ARGV[2]), #KEYS
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end
local stride = verb == 'refund' and 3 or 2

-- Each window at this time: its value, the offset of its first live bucket, the sum of the live ones, the
-- instant of the first, and the time as the window sees it. Tables start with the usual size.
local values = call('MGET', unpack(KEYS))
local firsts, sums, oldests, nows = { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }
local counts, lengths = { 0, 0 }, { 0, 0 }
local was_set_back
local has_room = true
for i = 1, windows do
  local argument = stride * (i - 1) + 3
  local value, count, length = values[i], ARGV[argument] + 0, ARGV[argument + 1] + 0
  local first, sum, oldest, seen = FIRST, 0, nil, now
  local size = value and #value or 0
  if size > FIRST and size % BUCKET == FIRST - 1 and value:byte() == VERSION then
    local newest = decode('>I6', value, size - BUCKET + 1)
    if newest > now then
      if newest - now <= LATE_ARRIVAL_MS_MAX then
        seen = newest
      else
        local past, future = FIRST, 0
        for at = FIRST, size, BUCKET do
          local instant, in_bucket = decode('>I6I4', value, at)
          if instant > now then
            future = future + in_bucket
          else
            past = at + BUCKET
          end
        end
        value = sub(value, 1, past - 1) .. encode('>I6I4', now, math.min(future, 0xffffffff))
        size, was_set_back = #value, was_set_back or {}
        was_set_back[i] = true
      end
    end
    sum = decode('>I4', value, 2)
    while first < size do
      local in_bucket
      oldest, in_bucket = decode('>I6I4', value, first)
      if seen - oldest < length then break end
      sum, first, oldest = sum - in_bucket, first + BUCKET, nil
    end
    if was_set_back and was_set_back[i] then
      values[i], first = encode('>BI4', VERSION, sum) .. sub(value, first), FIRST
    end
  end
  firsts[i], sums[i], oldests[i], nows[i] = first, sum, oldest, seen
  counts[i], lengths[i] = count, length
  if sum >= count then has_room = false end
end

local answer = { 0, 0, 0 }
local is_charging = has_room and verb == 'charge'
for i = 1, windows do
  local argument = stride * (i - 1) + 3
  local count, length, length_text = counts[i], lengths[i], ARGV[argument + 1]
  local value, first, sum, oldest, seen = values[i], firsts[i], sums[i], oldests[i], nows[i]
  local charged = 0
  if was_set_back and was_set_back[i] then
    if oldest then
      call('SET', KEYS[i], value, 'PX', length_text)
    else
      call('DEL', KEYS[i])
    end
  end
  if is_charging then
    sum, charged = sum + 1, seen
    if not oldest then
      value, oldest = encode('>BI4I6I4', VERSION, 1, seen, 1), seen
    else
      local newest, in_bucket = decode('>I6I4', value, #value - BUCKET + 1)
      local span = count > EXACT_COUNT_MAX and math.ceil(length / BUCKETS) or 1
      if floor(newest / span) == floor(seen / span) then
        if first == #value - BUCKET + 1 then oldest = seen end
        value = encode('>BI4', VERSION, sum) .. sub(value, first, -11) .. encode('>I6I4', seen, in_bucket + 1)
      else
        value = encode('>BI4', VERSION, sum) .. sub(value, first) .. encode('>I6I4', seen, 1)
      end
    end
    first = FIRST
    call('SET', KEYS[i], value, 'PX', length_text)
  elseif verb == 'refund' and oldest then
    local admitted = math.min(ARGV[argument + 2] + 0, seen)
    local span = count > EXACT_COUNT_MAX and math.ceil(length / BUCKETS) or 1
    for at = first, #value, BUCKET do
      local newest, in_bucket = decode('>I6I4', value, at)
      if newest >= admitted then
        if floor(newest / span) == floor(admitted / span) then
          local rest = sub(value, at + BUCKET)
          if in_bucket > 1 then rest = encode('>I6I4', newest, in_bucket - 1) .. rest end
          sum = sum - 1
          value = encode('>BI4', VERSION, sum) .. sub(value, first, at - 1) .. rest
          first = FIRST
          if #value >= FIRST then
            oldest = decode('>I6', value, FIRST)
            call('SET', KEYS[i], value, 'KEEPTTL')
          else
            oldest = nil
            call('DEL', KEYS[i])
          end
        end
        break
      end
    end
  end
  -- After the limit was lowered, several charges must expire before one more is admitted.
  local must_expire = sum + 1 - count
  if oldest and must_expire > 1 then
    for at = first, #value, BUCKET do
      local newest, in_bucket = decode('>I6I4', value, at)
      must_expire, oldest = must_expire - in_bucket, newest
      if must_expire <= 0 then break end
    end
  end
  answer[3 * i - 2] = sum
  answer[3 * i - 1] = oldest and length - (seen - oldest) or length
  answer[3 * i] = charged
end
return answer
