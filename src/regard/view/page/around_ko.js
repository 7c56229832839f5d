/** What Inside says in Korean of what stands around an attention. */

export const aroundKorean = {
  "around.number": "순서",
  "around.more_numbers": "나머지 숫자 {count}개 보기",
  "around.mean": "평균 μ",
  "around.deviation": "표준편차 √(σ² + ε)",
  "around.see_below": "아래 블록 보기",
  "around.see_above": "위 블록 보기",
  "around.see_other": "그 계산 보기",

  "around.embedding_title": "x는 어디서 왔을까: 토큰과 위치",
  "around.embedding_text": "“{token}”{token|은/는} 어휘에서 번호 하나예요. 임베딩 표에는 그 번호의 행이 있고, 학습으로 찾은 숫자 {width}개가 들어 있어요.",
  "around.embedding_position": "어텐션만으로는 순서를 알 수 없어서, 0부터 세어 {position}번 자리의 위치 벡터를 더해요.",
  "around.embedding_rotary": "여기서는 위치를 더하지 않아요. 이 모델은 대신 쿼리와 키를 위치만큼 돌려요.",
  "around.embedding_unplaced": "이 모델은 여기에 위치를 더하지 않아요.",
  "around.below_title": "x는 어디서 왔을까: 아래 블록",
  "around.below_text": "{number}번째 블록이 이 토큰에 준 숫자 {width}개예요. 지금까지 알게 된 것이 담겨 있어요.",
  "around.below_eye": "그림 조각 하나를 행렬 하나에 통과시키고, 그 행과 열의 위치 인코딩을 더한 것이에요.",

  "around.norm_title_embedding": "첫 블록 앞의 층 정규화",
  "around.norm_title_attention": "어텐션 앞의 층 정규화",
  "around.norm_title_feed-forward": "피드포워드 신경망 앞의 층 정규화",
  "around.norm_title_last": "마지막 블록 위의 층 정규화",
  "around.norm_text":
    "토큰이 가진 숫자들의 평균을 빼고 표준편차로 나눠요. 무엇이 들어오든 평균은 0, 표준편차는 1이 돼요. 그다음 학습으로 찾은 배율 g를 곱하고 편향 b를 더해요.",

  "around.add_title": "더하기: 잔차 연결",
  "around.add_title_network": "피드포워드 신경망을 지나 더하기",
  "around.add_text": "찾아낸 것을 들어온 값에 더해요. 바꿔치우지 않아요. 그래서 토큰은 원래 모습을 간직하고, 기울기는 아래로 곧장 내려갈 길을 얻어요.",
  "around.add_norm_title": "더하고 정규화하기(Add & Norm)",
  "around.add_norm_title_network": "피드포워드 신경망을 지나 더하고 정규화하기(Add & Norm)",
  "around.add_norm_text":
    "찾아낸 것을 들어온 값에 더해요. 그래서 토큰은 원래 모습을 간직해요. 그다음 합을 정규화해요. 평균을 빼고 표준편차로 나눈 뒤, 학습으로 찾은 배율 g를 곱하고 편향 b를 더해요.",
  "around.before_self-attention_title": "이 블록에서 먼저: 셀프 어텐션",
  "around.before_self-attention_text": "먼저 번역이 자기 자신을 봤어요. 거기서 찾은 것(o)도 같은 방법으로 더했어요.",
  "around.before_recurrence_title": "이 블록에서 먼저: 순환",
  "around.before_recurrence_text": "이 모델에서는 어텐션 대신 순환 유닛(SSRU)이 앞에서 말한 것을 전해 줘요. 거기서 찾은 것(o)도 같은 방법으로 더했어요.",
  "around.after_cross-attention_title": "이 블록에서 다음: 원문을 보는 어텐션",
  "around.after_cross-attention_text": "이제 가진 것으로 번역이 원문을 봐요. 거기서 찾은 것(o)도 같은 방법으로 더해요.",

  "around.widen_title": "피드포워드 신경망: W₁과 {activation}",
  "around.widen_text": "자리마다 따로 계산해요. 행렬 W₁이 숫자 {width}개로 {inner}개를 만들어요.",
  "around.relu_text": "그다음 ReLU는 양수만 통과시키고 나머지는 0으로 만들어요.",
  "around.gelu_text": "그다음 GELU는 뚜렷한 양수를 통과시키고 나머지는 0 쪽으로 부드럽게 눌러요.",
  "around.silu_text": "그다음 SiLU는 뚜렷한 양수를 통과시키고 나머지는 0 쪽으로 부드럽게 눌러요.",
  "around.narrow_title": "피드포워드 신경망: W₂",
  "around.narrow_text": "행렬 W₂가 다시 숫자 {width}개로 만들어요.",
  "around.matrices_left_out": "이 신경망의 행렬은 이 파일에 담기에 너무 커요. 합은 `regard serve`에서 볼 수 있어요.",

  "around.upward_title": "어디로 갈까",
  "around.upward_above": "{number}번째 블록이 여기서 시작해요.",
  "around.upward_memory": "인코더가 이 토큰으로 만든 결과예요. 디코더의 어텐션이 이것을 봐요. 키와 밸류가 이 숫자들로 만들어져요.",
  "around.upward_eye": "눈이 이 자리로 만든 결과예요. 디코더의 어텐션이 이것을 봐요.",
  "around.joined_title": "그다음: RNN에는 Add & Norm이 없어요",
  "around.joined_text":
    "트랜스포머에서 이어지는 잔차 연결, 층 정규화, 피드포워드 신경망이 RNN에는 없어요. 대신 문맥 c와 디코더의 상태 s를 이어 붙여 행렬 하나와 tanh에 통과시키고, 그 결과 h가 출력층으로 가요.",
  "around.left_out_title": "그다음에 오는 것",
  "around.left_out_text": "이 길이에서는 Add & Norm, 피드포워드 신경망, 출력층이 이 파일에 담기에 너무 커요. `regard serve`에서 볼 수 있어요.",

  "around.head_title": "출력층 앞에서",
  "around.head_text": "읽는 모델은 벡터를 행렬 하나와 {activation}, 층 정규화에 한 번 더 통과시켜요.",
  "around.spoken_title": "출력층과 소프트맥스: 가장 그럴듯한 토큰",
  "around.spoken_text_said":
    "출력층에는 어휘의 토큰 {vocabulary}개마다 행 w가 있어요. 여기까지 온 벡터 h와 w의 내적이 그 토큰의 로짓이고(출력층에 편향이 있으면 더해요), 소프트맥스가 로짓 전체를 확률로 바꿔요. 다음에 말할 토큰으로 가장 그럴듯한 열 개와 실제로 말한 토큰이에요.",
  "around.spoken_text_stands":
    "출력층에는 어휘의 토큰 {vocabulary}개마다 행 w가 있어요. 여기까지 온 벡터 h와 w의 내적이 그 토큰의 로짓이고(출력층에 편향이 있으면 더해요), 소프트맥스가 로짓 전체를 확률로 바꿔요. 이 자리에 가장 그럴듯한 열 개와 실제로 있는 토큰이에요.",
  "around.token": "토큰",
  "around.rank": "순위",
  "around.logit": "로짓",
  "around.logit_of": "{token}의 로짓",
  "around.probability": "확률",
  "around.which": "어느 것?",
  "around.said_mark": "말한 토큰",
  "around.stands_mark": "여기 있는 토큰",
  "around.log_total": "어휘 전체의 e^로짓을 더한 값의 로그",
};
